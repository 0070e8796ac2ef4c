package hocon

// A val is a value whose substitutions are resolved as far as needed to know what it is: a *scalar, a *list, or an
// *obj whose fields are still to be resolved. A nil val is undefined.
type val interface{ at() pos }

type list struct {
	pos
	elems []val
}

type obj struct {
	pos
	keys  []string
	cells map[string]*cell
	// sealed is set once others may see the object. Until then its cells can become part of another object.
	sealed bool
}

// cell is the place of one field: everything that was written for it, and what came of that.
//
// A field that refers to itself, directly or through others, is found with active set. It then means the layers below
// the active one; that is the look-back of the HOCON specification.
type cell struct {
	pos
	owner  *obj
	layers []layer
	// memo[n] is the value of the n lowest layers.
	memo []memo
	// active is 1 + the index of the layer that is being resolved, 0 if none is.
	active int
	// started is how many fields were being resolved when this one began.
	started int
}

// layer is one definition of a field: a value as written, or the field of another object that is merged here.
type layer struct {
	written node
	add     bool
	merged  *cell
}

type memo struct {
	v    val
	done bool
}

// open makes the cells of an object as it was written.
func open(o *object) *obj {
	made := &obj{pos: o.pos, cells: make(map[string]*cell, len(o.fields))}
	made.open(o)
	return made
}

func (o *obj) open(written *object) {
	for _, f := range written.fields {
		c := o.cell(f.key)
		c.pos = f.pos
		c.layers = append(c.layers, layer{written: f.val, add: f.add})
	}
}

// cell returns the cell of a key, made if there is none.
func (o *obj) cell(key string) *cell {
	c := o.cells[key]
	if c == nil {
		c = &cell{owner: o}
		o.cells[key] = c
		o.keys = append(o.keys, key)
	}
	return c
}

// merge lays objects over each other, the lowest first. A field that only one of them has stays the same cell. One that
// several have gets a new cell: on fields that were only just opened, the definitions are put on top of each other, so
// that += and look-back see those of all; fields that others see keep their value.
func merge(objs []*obj) *obj {
	top := objs[len(objs)-1]
	merged := &obj{pos: top.pos, cells: make(map[string]*cell, len(top.keys))}
	for _, o := range objs {
		for _, key := range o.keys {
			merged.put(key, o.cells[key])
		}
	}
	return merged
}

// put lays a field of another object over what there is under the key.
func (o *obj) put(key string, upper *cell) {
	lower := o.cells[key]
	if lower == upper {
		return
	}
	if lower == nil {
		if !upper.owner.sealed {
			upper.owner = o
		}
		o.cells[key] = upper
		o.keys = append(o.keys, key)
		return
	}
	both := &cell{pos: upper.pos, owner: o}
	both.absorb(lower)
	both.absorb(upper)
	o.cells[key] = both
}

func (c *cell) absorb(other *cell) {
	if other.owner.sealed {
		if n := len(c.layers); n == 0 || c.layers[n-1].merged != other {
			c.layers = append(c.layers, layer{merged: other})
		}
		return
	}
	c.layers = append(c.layers, other.layers...)
}
