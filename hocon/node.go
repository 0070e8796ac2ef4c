package hocon

// A node is a value as it was written: what the parser makes, and what is left when all substitutions are resolved.
// Nodes are never changed once they are made, so that configurations can share them.
type node interface{ at() pos }

// scalar is a null, boolean, number or string.
type scalar struct {
	pos
	kind Kind
	text string
	// blank marks the whitespace between two values of a concatenation.
	blank bool
	// secret marks text that came from the environment.
	secret bool
	// variable is the environment variable that it came from.
	variable string
	// via is the substitution that put the value here, nil if it is written here.
	via *substitution
}

type array struct {
	pos
	elems []node
}

type object struct {
	pos
	// fields are in the order of the document. Only a resolved object has each key once.
	fields []field
}

type field struct {
	pos
	key string
	val node
	// add is true for key += val.
	add bool
}

// substitution is ${path} or ${?path}.
type substitution struct {
	pos
	path []string
	// prefix is the place where the file was included: the path is looked up below it first.
	prefix   []string
	optional bool
	// list is true for ${NAME[]}, which takes NAME_0, NAME_1 and so on from the environment.
	list bool
}

// concat is several values side by side, at least one of them a substitution, an array or an object.
type concat struct {
	pos
	parts []node
}

func (p pos) at() pos { return p }

// find returns the field of a resolved object.
func (o *object) find(key string) (field, bool) {
	for _, f := range o.fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// kindOf returns the kind of a resolved node.
func kindOf(n node) Kind {
	switch n := n.(type) {
	case *scalar:
		return n.kind
	case *array:
		return Array
	default:
		return Object
	}
}
