// Package hocon reads configurations in HOCON, the superset of JSON that Lightbend's config library introduced. It
// imports nothing but the standard library and keeps no state of its own.
//
// A configuration is parsed, laid over its defaults, resolved once, and then decoded into the structs of those who use
// it:
//
//	app, err := hocon.ParseFile("application.conf")
//	all, err := app.WithFallback(reference).Resolve()
//	err = hocon.Decode(all, "broker.nats", &settings)
//
// # The format
//
// The package follows the HOCON specification: comments, optional braces and commas, dotted and quoted keys, objects
// that merge, concatenation of text, arrays and objects, triple quotes, substitutions ${path} and ${?path}, +=, and
// include with required() and file(). A substitution means the final value under its path, wherever that is defined;
// one that refers to the key it defines means the earlier value of that key. What the configuration does not have is
// looked up in the environment, by the exact name; ${NAME[]} makes an array of NAME_0, NAME_1 and so on.
//
// An include names a file beside the including one; the working directory does not matter. A name without .conf or
// .json stands for both, JSON first. A file that is not there is left out unless it is required. Substitutions in an
// included file are looked up below the place of the include first, then from the root. Only files can be included,
// not URLs. A file that is included inside an array cannot contain substitutions.
//
// Text beside an object or an array is an error, as the specification has it; nothing that is written gets lost.
//
// # Decoding
//
// The field InitialDelay of a struct is the key initialDelay: the first word in lower case, so that URL is url and
// TLSConfig is tlsConfig. The tag `hocon:"name"` gives another key, `hocon:"-"` leaves a field out, as are fields that
// are not exported. Embedded structs without a tag count as part of the struct around them; if an embedded type has
// the method UnmarshalHOCON, so has the outer one, which is rarely meant.
//
// Only keys that are there are written, so a struct is filled with its defaults first. null counts as not there. A key
// that no field has is an error, and so is a value of the wrong type:
//
//   - string: also numbers and booleans, as they are written
//   - bool: true, yes, on, false, no, off
//   - int, uint and their kin: whole numbers in range, also in quotes; 1.0 is refused, 1e3 is not
//   - float32, float64: finite numbers in range, also in quotes
//   - [time.Duration]: a number with ns, us, ms, s, m, h, d or the long name of these; without a unit, milliseconds.
//     Negative ones are taken: whether they make sense is for the settings' own validation
//   - [Bytes]: a size in bytes, not negative
//   - slices: arrays, or objects whose keys are numbers; arrays of Go: of that length
//   - maps with string keys: objects; keys the map had before stay
//   - pointers: allocated when the key is there
//   - any: string, bool, int64, float64, []any, map[string]any
//   - [Secret]: a string that nothing prints
//   - a type with UnmarshalText on its pointer: strings, numbers and booleans. That is how an enumeration is read; its
//     error should name the words that are allowed
//   - a type with UnmarshalHOCON(v [Value]) error on its pointer reads its value itself. That is how a setting takes
//     either a word or a group of settings
//
// # Errors and limits
//
// All errors about a document are *[Error] and read "file:line:column: key: what is wrong and what would be right". If
// the file was included, "(included at file:line:column, at ...)" follows, up to the outermost document. They name keys,
// files and variables, never the value of a setting; only the error of an UnmarshalText or UnmarshalHOCON method may, and
// even there what came from the environment is taken out.
//
// No document, however hostile, makes the package panic, exhaust the stack or run forever. The limits, each an error:
// values nest 1000 deep, includes 50 deep, 50 000 values depend on each other in one chain, a document includes 1000 files, and
// with them has 64 MiB of text and 1 000 000 values, substitutions take 2 000 000 steps, and the resolved configuration weighs 64 MiB.
package hocon
