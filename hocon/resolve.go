package hocon

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxChain bounds how many values may depend on each other in one chain.
	maxChain = 50_000
	// maxSteps and maxWeight bound the work and the result of documents that are built to explode. The weight of a
	// value is what it takes up where it is written out: its text, and nodeWeight for each value inside.
	maxSteps   = 2_000_000
	maxWeight  = 64 << 20
	nodeWeight = 16
)

// resolver replaces substitutions by values, on demand.
type resolver struct {
	env   func(string) (string, bool)
	root  *cell
	chain []*substitution
	depth int
	steps int
	text  int
	done  map[val]*result
	// running counts the fields that are being resolved, each the cause of the next. reached is the outermost of them
	// that was looked back at since the innermost began.
	running, reached int
}

// notReached is above every count of running fields.
const notReached = math.MaxInt

// resolve merges layers, the lowest first, and replaces their substitutions.
func resolve(layers []*object, env func(string) (string, bool)) (*object, error) {
	if len(layers) == 0 {
		return &object{}, nil
	}
	r := &resolver{env: env, done: make(map[val]*result), reached: notReached}
	root := &obj{pos: layers[len(layers)-1].pos, cells: make(map[string]*cell), sealed: true}
	for _, o := range layers {
		root.open(o)
	}
	r.root = &cell{pos: root.pos, owner: root, memo: []memo{{v: root, done: true}}}
	n, err := r.finish(root)
	if err != nil {
		return nil, err
	}
	return n.(*object), nil
}

// enter counts one step down; leave is to be called on the way up.
func (r *resolver) enter(at pos) error {
	r.depth++
	if r.depth > maxChain {
		return at.errorf("more than %d values depend on each other in a chain; is there a cycle?", maxChain)
	}
	return r.count(at, 1)
}

func (r *resolver) leave() { r.depth-- }

// count counts work that is done.
func (r *resolver) count(at pos, steps int) error {
	if r.steps += steps; r.steps > maxSteps {
		return at.errorf("the substitutions take more than %d steps to resolve", maxSteps)
	}
	return nil
}

// merge lays objects over each other, the lowest first.
func (r *resolver) merge(objs []*obj) (val, error) {
	if len(objs) == 1 {
		return objs[0], nil
	}
	for _, o := range objs {
		if err := r.count(o.pos, len(o.keys)); err != nil {
			return nil, err
		}
	}
	return merge(objs), nil
}

// value returns the value of a field. If the field is just being resolved, that is what was defined below, and
// lookedBack is true.
func (r *resolver) value(c *cell) (v val, lookedBack bool, err error) {
	if c.active > 0 {
		v, err = r.lookBack(c)
		return v, true, err
	}
	v, err = r.lowest(c, len(c.layers))
	return v, false, err
}

// lookBack returns what is defined below the layer that is being resolved. Where that layer is the field of a merged
// object, the definitions below are first those of that field.
func (r *resolver) lookBack(c *cell) (val, error) {
	i := c.active - 1
	r.reached = min(r.reached, c.started)
	var upper val
	if m := c.layers[i].merged; m != nil && m.active > 0 {
		var err error
		if upper, err = r.lookBack(m); err != nil {
			return nil, err
		}
	}
	high, isObj := upper.(*obj)
	if upper != nil && !isObj {
		return upper, nil
	}
	lower, err := r.lowest(c, i)
	if err != nil || upper == nil {
		return lower, err
	}
	if low, ok := lower.(*obj); ok {
		return r.merge([]*obj{low, high})
	}
	return upper, nil
}

// lowest returns the value of the n lowest layers of a field.
func (r *resolver) lowest(c *cell, n int) (val, error) {
	if c.memo == nil {
		c.memo = make([]memo, len(c.layers)+1)
	}
	if m := c.memo[n]; m.done || n == 0 {
		return m.v, nil
	}
	if err := r.enter(c.pos); err != nil {
		return nil, err
	}
	defer r.leave()
	v, alone, err := r.run(c, n)
	if err != nil {
		return nil, err
	}
	if o, ok := v.(*obj); ok {
		o.sealed = true
	}
	if alone {
		c.memo[n] = memo{v, true}
	}
	return v, nil
}

// run resolves the n lowest layers of a field. It is alone if it did not look back at another field that is still being
// resolved: only then the value is the same wherever it is asked for.
func (r *resolver) run(c *cell, n int) (v val, alone bool, err error) {
	active, started, reached := c.active, c.started, r.reached
	r.running++
	c.started, r.reached = r.running, notReached
	v, err = r.stack(c, n)
	alone = r.reached >= r.running
	if alone {
		r.reached = notReached
	}
	r.reached = min(r.reached, reached)
	r.running--
	c.active, c.started = active, started
	return v, alone, err
}

// stack goes down the n lowest layers of a field, until one hides the rest. Objects as they were written are put on top
// of each other. Below an object that came out of a substitution, which may be what this field looked back at, the rest
// is one object, too: so nothing is in the result twice.
func (r *resolver) stack(c *cell, n int) (val, error) {
	var objs []*obj
	for i := n - 1; i >= 0; i-- {
		l := c.layers[i]
		if len(objs) > 0 && l.hidden() {
			break
		}
		c.active = i + 1
		v, err := r.layer(c, i)
		if err != nil {
			return nil, err
		}
		o, ok := v.(*obj)
		if v != nil && !ok {
			if len(objs) == 0 {
				return v, nil
			}
			break
		}
		if !ok {
			continue
		}
		objs = append(objs, o)
		if _, written := l.written.(*object); written {
			continue
		}
		lower, err := r.lowest(c, i)
		if err != nil {
			return nil, err
		}
		if o, ok := lower.(*obj); ok {
			objs = append(objs, o)
		}
		break
	}
	if len(objs) == 0 {
		return nil, nil
	}
	slices.Reverse(objs)
	return r.merge(objs)
}

// layer returns the value of layer i alone, but for += that of the layers below, too.
func (r *resolver) layer(c *cell, i int) (val, error) {
	switch l := c.layers[i]; {
	case l.add:
		return r.added(c, i)
	case l.merged != nil:
		v, _, err := r.value(l.merged)
		return v, err
	default:
		return r.eval(l.written)
	}
}

// hidden reports whether a layer is plainly not an object, so that an object above hides it.
func (l layer) hidden() bool {
	switch l.written.(type) {
	case *scalar, *array:
		return true
	}
	return l.add
}

// added resolves layer i, which is a +=, together with those directly below that are, too.
func (r *resolver) added(c *cell, i int) (val, error) {
	first := i
	for first > 0 && c.layers[first-1].add {
		first--
	}
	below, err := r.lowest(c, first)
	if err != nil {
		return nil, err
	}
	sum := &list{pos: c.layers[i].written.at()}
	if below != nil {
		elems, ok, err := r.elements(below)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.layers[first].written.at().errorf("+= adds to an array, but the value before is %s", kindOfVal(below))
		}
		sum.elems = append(sum.elems, elems...)
	}
	for k := first; k <= i; k++ {
		c.active = k + 1
		v, err := r.eval(c.layers[k].written)
		if err != nil {
			return nil, err
		}
		if v != nil {
			sum.elems = append(sum.elems, v)
		}
	}
	return sum, nil
}

// eval returns the value of what is written.
func (r *resolver) eval(n node) (val, error) {
	if s, ok := n.(*scalar); ok {
		return s, nil
	}
	if err := r.enter(n.at()); err != nil {
		return nil, err
	}
	defer r.leave()
	switch n := n.(type) {
	case *array:
		l := &list{pos: n.pos, elems: make([]val, 0, len(n.elems))}
		for _, elem := range n.elems {
			v, err := r.eval(elem)
			if err != nil {
				return nil, err
			}
			if v != nil {
				l.elems = append(l.elems, v)
			}
		}
		return l, nil
	case *object:
		return open(n), r.count(n.pos, len(n.fields))
	case *substitution:
		return r.substitute(n)
	default:
		return r.join(n.(*concat))
	}
}

// substitute looks a substitution up: below the place its file was included, then from the root, then outside.
func (r *resolver) substitute(s *substitution) (val, error) {
	r.chain = append(r.chain, s)
	defer func() { r.chain = r.chain[:len(r.chain)-1] }()
	cycle := false
	for _, prefix := range [][]string{s.prefix, nil} {
		v, back, err := r.find(prefix, s.path)
		if v != nil || err != nil {
			return s.marked(v), err
		}
		cycle = cycle || back
		if len(s.prefix) == 0 {
			break
		}
	}
	if v := r.outside(s); v != nil || s.optional {
		return s.marked(v), nil
	}
	if cycle {
		return nil, s.errorf("%s refers to itself, and there is no earlier value to look back at: %s", s, r.cycle())
	}
	return nil, s.errorf("%s has no value, neither in the configuration nor in the environment; define it, or write ${?%s} if it may be undefined", s, joinPath(s.path))
}

// marked notes at a text, number or boolean that it came through this substitution.
func (s *substitution) marked(v val) val {
	if text, ok := v.(*scalar); ok {
		through := *text
		through.via = s
		return &through
	}
	return v
}

// cycle names the substitutions that led here.
func (r *resolver) cycle() string {
	var b strings.Builder
	last := r.chain[len(r.chain)-1]
	from := max(0, len(r.chain)-8)
	if from > 0 {
		b.WriteString("... > ")
	}
	for _, s := range r.chain[from:] {
		b.WriteString(s.String())
		if s != last {
			b.WriteString(" > ")
		}
	}
	return b.String()
}

// find returns the value under a path. lookedBack is true if it is undefined because it is only just being resolved.
func (r *resolver) find(prefix, path []string) (v val, lookedBack bool, err error) {
	c := r.root
	back := false
	for _, keys := range [][]string{prefix, path} {
		for _, key := range keys {
			v, b, err := r.value(c)
			if err != nil {
				return nil, false, err
			}
			back = back || b
			o, ok := v.(*obj)
			if !ok || o.cells[key] == nil {
				return nil, back, nil
			}
			c = o.cells[key]
		}
	}
	v, b, err := r.value(c)
	return v, back || b, err
}

// outside returns what the environment has for a substitution: a string, or for ${NAME[]} a list of strings.
func (r *resolver) outside(s *substitution) val {
	if len(s.path) != 1 || r.env == nil {
		return nil
	}
	variable := func(name string) *scalar {
		text, ok := r.env(name)
		if !ok {
			return nil
		}
		return &scalar{pos: s.pos, kind: String, text: strings.ToValidUTF8(text, "\uFFFD"), secret: true, variable: name}
	}
	if !s.list {
		if v := variable(s.path[0]); v != nil {
			return v
		}
		return nil
	}
	l := &list{pos: s.pos}
	for len(l.elems) < maxDepth {
		v := variable(s.path[0] + "_" + strconv.Itoa(len(l.elems)))
		if v == nil {
			break
		}
		l.elems = append(l.elems, v)
	}
	if len(l.elems) == 0 {
		return nil
	}
	return l
}

func kindOfVal(v val) Kind {
	switch v := v.(type) {
	case *scalar:
		return v.kind
	case *list:
		return Array
	default:
		return Object
	}
}
