// Package hocon reads configurations in HOCON, the format of Lightbend's config library.
//
// A configuration is parsed, laid over its defaults, resolved once, and then decoded into the structs of those who use
// it:
//
//	app, err := hocon.ParseFile("application.conf")
//	all, err := app.WithFallback(reference).Resolve()
//	err = hocon.Decode(all, "broker.nats", &settings)
package hocon
