package proof

import (
	"bytes"

	"weir/internal/rawjson"
)

// Edit is the array arr with each element as change makes it; without those that
// it makes nil. Where it changes nothing, it is arr itself.
func Edit(arr []byte, change func(element []byte) []byte) []byte {
	out, changed := []byte{'['}, false
	for _, e := range rawjson.Elements(arr) {
		to := change(e)
		changed = changed || !bytes.Equal(to, e)
		if to == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, to...)
	}
	if !changed {
		return arr
	}
	return append(out, ']')
}

// EditMember is the object obj with its array of that name edited; nil where
// nothing is left of that, though there was something.
func EditMember(obj []byte, name string, change func(element []byte) []byte) []byte {
	arr := rawjson.Get(obj, name)
	if rawjson.KindOf(arr) != rawjson.Array {
		return obj
	}
	edited := Edit(arr, change)
	switch {
	case len(edited) == len(arr) && bytes.Equal(edited, arr):
		return obj
	case string(edited) == "[]":
		return nil
	}
	return rawjson.Splice(nil, obj, rawjson.Set(obj, name, edited))
}

// Strip is a body, of which the conversation is the array of that name, with
// each element of that as change makes it. It is body itself where no proof is
// sealed within.
func Strip(body []byte, name string, change func(element []byte) []byte) []byte {
	if !Within(body) {
		return body
	}
	if stripped := EditMember(body, name, change); stripped != nil {
		return stripped
	}
	return body
}
