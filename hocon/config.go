package hocon

import (
	"errors"
	"io/fs"
	"os"
)

// Config is a configuration: one document, or several laid over each other by [Config.WithFallback]. It never changes
// once it is made, so any number of goroutines may use it, and configurations may share parts. A nil *Config is an
// empty one.
type Config struct {
	// layers are the documents, lowest first.
	layers   []*object
	env      func(string) (string, bool)
	resolved bool
}

// Options are how documents reach the world outside. The zero value is the default.
type Options struct {
	// Env looks a variable up for a substitution that finds nothing in the configuration. Default os.LookupEnv. It is
	// called by [Config.Resolve] on the calling goroutine.
	Env func(name string) (string, bool)
	// ReadFile reads a document or an included file. An error that is fs.ErrNotExist means that there is no such file,
	// which an include that is not required leaves out. Default os.ReadFile. It is called on the calling goroutine.
	ReadFile func(path string) ([]byte, error)
}

func options(opts []func(*Options)) Options {
	var o Options
	for _, opt := range opts {
		opt(&o)
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	return o
}

// Empty returns a configuration without a key.
func Empty() *Config { return &Config{resolved: true} }

// ParseString parses a document. The name stands for it in errors, and files it includes are searched beside it. The
// result is not resolved yet. It blocks while included files are read. Errors are *[Error].
func ParseString(name, text string, opts ...func(*Options)) (*Config, error) {
	o := options(opts)
	l := newLoader(o)
	root, err := l.parse(name, text, nil, nil)
	if err != nil {
		return nil, err
	}
	return &Config{layers: []*object{root}, env: o.Env}, nil
}

// ParseFile reads and parses a document and the files it includes. The result is not resolved yet. It blocks while the
// files are read. Errors are *[Error]; for a file that is not there, errors.Is(err, fs.ErrNotExist) holds.
func ParseFile(path string, opts ...func(*Options)) (*Config, error) {
	o := options(opts)
	text, err := o.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Msg: "cannot read the file: " + reason(err), cause: err}
	}
	l := newLoader(o)
	root, err := l.parse(path, string(text), nil, nil)
	if err != nil {
		return nil, err
	}
	return &Config{layers: []*object{root}, env: o.Env}, nil
}

// reason is what went wrong with a file, without the operation and the path that fs.PathError repeats.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// WithFallback returns c laid over lower: objects merge key by key, everything else in c replaces what lower has. The
// substitutions of both see the merged result, so the result must be resolved, unless both were. Neither input is
// changed; nil counts as empty.
func (c *Config) WithFallback(lower *Config) *Config {
	switch {
	case c == nil && lower == nil:
		return Empty()
	case c == nil || len(c.layers) == 0:
		return lower.orEmpty()
	case lower == nil || len(lower.layers) == 0:
		return c
	}
	layers := make([]*object, 0, len(lower.layers)+len(c.layers))
	layers = append(append(layers, lower.layers...), c.layers...)
	env := c.env
	if env == nil {
		env = lower.env
	}
	merged := &Config{layers: layers, env: env}
	if c.resolved && lower.resolved {
		// Nothing is left to look up: this only merges, and the sizes of both were accepted before.
		if r, err := merged.Resolve(); err == nil {
			return r
		}
	}
	return merged
}

func (c *Config) orEmpty() *Config {
	if c == nil {
		return Empty()
	}
	return c
}

// Resolve returns the configuration with every substitution replaced by its value: a value of the configuration, else
// of the environment. A substitution inside the value it refers to looks back at the earlier values of that key. An
// error, always an *[Error], is returned for a substitution without a value, for a cycle, for values that cannot be
// concatenated, and for a document built to grow beyond all bounds.
func (c *Config) Resolve() (*Config, error) {
	if c == nil {
		return Empty(), nil
	}
	if c.resolved {
		return c, nil
	}
	root, err := resolve(c.layers, c.env)
	if err != nil {
		return nil, err
	}
	return &Config{layers: []*object{root}, env: c.env, resolved: true}, nil
}

// Has reports whether there is a value other than null under a path such as broker.nats or broker."a.b". The
// configuration should be resolved; otherwise it is resolved for this one call, and false is returned where that fails.
func (c *Config) Has(path string) bool {
	r, err := c.Resolve()
	if err != nil {
		return false
	}
	keys, err := splitPath(path)
	if err != nil {
		return false
	}
	f, ok := r.lookup(keys)
	return ok && kindOf(f.val) != Null
}

// lookup returns what a resolved configuration has under a path.
func (c *Config) lookup(keys []string) (field, bool) {
	found := field{val: c.root()}
	found.pos = found.val.at()
	for _, key := range keys {
		o, ok := found.val.(*object)
		if !ok {
			return field{}, false
		}
		if found, ok = o.find(key); !ok {
			return field{}, false
		}
	}
	return found, true
}

// root is the one layer of a resolved configuration.
func (c *Config) root() *object {
	if c == nil || len(c.layers) == 0 {
		return &object{}
	}
	return c.layers[0]
}
