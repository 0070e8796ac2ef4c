package hocon

// Origin says where the value of one leaf of a configuration came from. It never has the value.
type Origin struct {
	// Key is the dotted key, an element of an array with its index as the last key. A leaf is everything but an object or
	// array that has something in it.
	Key string
	// Place is where the value is written. For one from the environment, it is the substitution that took it; for one
	// that was concatenated, where the first part begins.
	Place Place
	// Included lists the include statements that lead to Place, the nearest first; empty in the outermost document.
	Included []Place
	// Substitution is the substitution, such as ${a.b}, through which this key got the value, and SubstitutionAt where it
	// stands; both zero if the value was written for the key itself. Of a chain it is the first, and of several side by
	// side the one that stands first. For leaves of an object or array that was substituted as a whole they are zero, and
	// Place is where the leaf is written.
	Substitution   string
	SubstitutionAt Place
	// Variable is the environment variable that the value, or the first such part of it, came from. Empty if none.
	Variable string
}

// maxOrigins bounds the leaves: an object that is substituted in many places is written out in each.
const maxOrigins = 1_000_000

// Origins returns where each leaf of a resolved configuration came from, in the order of the documents. The caller owns
// the result. It does not block. An error, always an *[Error], says that the configuration is not resolved, or that it
// has more than 1 000 000 leaves or 64 MiB of keys.
func (c *Config) Origins() ([]Origin, error) {
	if err := c.checkResolved(); err != nil {
		return nil, err
	}
	var w originWalk
	for _, f := range c.root().fields {
		if !w.walk([]string{f.key}, f.val) {
			return nil, &Error{Msg: "the configuration has more than 1000000 leaves, or 64 MiB of keys"}
		}
	}
	return w.found, nil
}

type originWalk struct {
	found []Origin
	// weight counts the keys of all, because in a deep document they are most of it.
	weight int
}

// walk collects the leaves of a value and returns false once there are too many.
func (w *originWalk) walk(keys []string, n node) bool {
	inner := func(key string, n node) bool { return w.walk(append(keys[:len(keys):len(keys)], key), n) }
	switch n := n.(type) {
	case *array:
		for i, elem := range n.elems {
			if !inner(indexKey(i), elem) {
				return false
			}
		}
		if len(n.elems) > 0 {
			return true
		}
	case *object:
		for _, f := range n.fields {
			if !inner(f.key, f.val) {
				return false
			}
		}
		if len(n.fields) > 0 {
			return true
		}
	}
	origin := Origin{Key: joinPath(keys), Place: n.at().place(), Included: n.at().included()}
	if s, ok := n.(*scalar); ok {
		origin.Variable = s.variable
		if s.via != nil {
			origin.Substitution, origin.SubstitutionAt = s.via.String(), s.via.place()
		}
	}
	w.weight += len(origin.Key)
	if len(w.found) == maxOrigins || w.weight > maxWeight {
		return false
	}
	w.found = append(w.found, origin)
	return true
}
