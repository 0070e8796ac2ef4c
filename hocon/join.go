package hocon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// join makes one value of those that stand side by side: one array of arrays, one object of objects, else a string.
func (r *resolver) join(c *concat) (val, error) {
	var vals []val
	var lists, objs, texts int
	for _, part := range c.parts {
		v, err := r.eval(part)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
			continue
		case *list:
			lists++
		case *obj:
			objs++
		case *scalar:
			if !v.blank {
				texts++
			}
		}
		vals = append(vals, v)
	}
	switch {
	case texts > 0 && lists+objs > 0:
		return nil, c.errorf("text, numbers and booleans cannot be concatenated with an array or an object; look at what the substitutions stand for")
	case lists > 0:
		return r.joinLists(c, vals)
	case objs > 0:
		all := make([]*obj, 0, objs)
		for _, v := range vals {
			if o, ok := v.(*obj); ok {
				all = append(all, o)
			}
		}
		return r.merge(all)
	}
	return r.joinText(c, vals)
}

func (r *resolver) joinLists(c *concat, vals []val) (val, error) {
	sum := &list{pos: c.pos}
	for _, v := range vals {
		if _, ok := v.(*scalar); ok {
			continue // whitespace
		}
		elems, ok, err := r.elements(v)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, c.errorf("an object and an array cannot be concatenated; look at what the substitutions stand for")
		}
		sum.elems = append(sum.elems, elems...)
	}
	return sum, nil
}

func (r *resolver) joinText(c *concat, vals []val) (val, error) {
	switch len(vals) {
	case 0:
		return nil, nil
	case 1:
		if s := vals[0].(*scalar); !s.blank {
			return s, nil // a single value keeps its type
		}
	}
	var b strings.Builder
	joined := &scalar{pos: c.pos, kind: String}
	for _, v := range vals {
		s := v.(*scalar)
		joined.secret = joined.secret || s.secret
		joined.variable = cmp.Or(joined.variable, s.variable)
		joined.via = cmp.Or(joined.via, s.via)
		if r.text += len(s.text); r.text > maxWeight {
			return nil, c.errorf("the strings that are concatenated have more than %d MiB", maxWeight>>20)
		}
		b.WriteString(s.text)
	}
	joined.text = b.String()
	return joined, nil
}

// elements returns the elements of a list, or of an object whose keys are numbers, in their order; false for others.
func (r *resolver) elements(v val) ([]val, bool, error) {
	switch v := v.(type) {
	case *list:
		// Copying is much cheaper than a step.
		return v.elems, true, r.count(v.pos, len(v.elems)/8)
	case *obj:
		keys := numericKeys(v.keys)
		var elems []val
		for _, key := range keys {
			elem, _, err := r.value(v.cells[key])
			if err != nil {
				return nil, false, err
			}
			if elem != nil {
				elems = append(elems, elem)
			}
		}
		return elems, len(keys) > 0, nil
	}
	return nil, false, nil
}

// numericKeys returns those keys that are numbers, in the order of the numbers.
func numericKeys(keys []string) []string {
	index := make(map[string]int)
	var numeric []string
	for _, key := range keys {
		if n, err := strconv.Atoi(key); err == nil && n >= 0 {
			index[key] = n
			numeric = append(numeric, key)
		}
	}
	slices.SortStableFunc(numeric, func(a, b string) int { return cmp.Compare(index[a], index[b]) })
	return numeric
}
