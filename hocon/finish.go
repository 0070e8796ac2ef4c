package hocon

import "strconv"

// result is what became of a list or an object, so that a value that is used in many places is made once.
type result struct {
	n      node
	weight int
	busy   bool
}

// finisher makes resolved nodes of values.
type finisher struct {
	*resolver
	keys []string
}

// finish resolves everything in a value.
func (r *resolver) finish(v val) (node, error) {
	f := &finisher{resolver: r}
	n, _, err := f.node(v)
	return n, err
}

// node makes the node of one value and returns its weight.
func (f *finisher) node(v val) (node, int, error) {
	if s, ok := v.(*scalar); ok {
		return s, nodeWeight + len(s.text), nil
	}
	if res := f.done[v]; res != nil {
		return res.n, res.weight, nil
	}
	if len(f.keys) > maxDepth {
		return nil, 0, v.at().errorf("values nest more than %d deep here; does a substitution refer to what it is in?", maxDepth)
	}
	res := &result{busy: true}
	f.done[v] = res
	var err error
	if l, ok := v.(*list); ok {
		err = f.list(l, res)
	} else {
		err = f.object(v.(*obj), res)
	}
	if err != nil {
		return nil, 0, err
	}
	if res.weight += nodeWeight; res.weight > maxWeight {
		return nil, 0, v.at().keyErrorf(joinPath(f.keys), "the configuration grows beyond %d MiB here", maxWeight>>20)
	}
	res.busy = false
	return res.n, res.weight, nil
}

func (f *finisher) list(l *list, res *result) error {
	a := &array{pos: l.pos, elems: make([]node, 0, len(l.elems))}
	for i, elem := range l.elems {
		if f.busy(elem) {
			return elem.at().keyErrorf(joinPath(f.keys), "the array contains itself, through a substitution in element %d", i+1)
		}
		f.keys = append(f.keys, strconv.Itoa(i))
		n, weight, err := f.node(elem)
		f.keys = f.keys[:len(f.keys)-1]
		if err != nil {
			return err
		}
		a.elems = append(a.elems, n)
		res.add(weight)
	}
	res.n = a
	return nil
}

func (f *finisher) object(o *obj, res *result) error {
	made := &object{pos: o.pos, fields: make([]field, 0, len(o.keys))}
	for _, key := range o.keys {
		c := o.cells[key]
		f.keys = append(f.keys, key)
		v, _, err := f.value(c)
		if err != nil {
			return err
		}
		if f.busy(v) {
			if !c.optional() {
				return c.keyErrorf(joinPath(f.keys), "the object contains itself, through the substitution here")
			}
			v = nil
		}
		if v != nil {
			n, weight, err := f.node(v)
			if err != nil {
				return err
			}
			made.fields = append(made.fields, field{pos: c.pos, key: key, val: n})
			res.add(weight + len(key))
		}
		f.keys = f.keys[:len(f.keys)-1]
	}
	res.n = made
	return nil
}

// busy reports whether a value is around the one that is being made.
func (f *finisher) busy(v val) bool {
	res := f.done[v]
	return res != nil && res.busy
}

// optional reports whether all there is of a field is ${?path}.
func (c *cell) optional() bool {
	if len(c.layers) != 1 {
		return false
	}
	s, ok := c.layers[0].written.(*substitution)
	return ok && s.optional
}

// add adds to the weight, without running over.
func (res *result) add(weight int) { res.weight = min(res.weight+weight, maxWeight+1) }
