package proof

import (
	"bytes"

	"weir/internal/rawjson"
)

// Edit returns the array arr with each element changed by a function, which drops elements by returning nil. It
// returns arr itself if nothing changed.
func Edit(arr []byte, change func(element []byte) []byte) []byte {
	out, changed := []byte{'['}, false
	for _, e := range rawjson.Elements(arr) {
		to := change(e)
		changed = changed || !bytes.Equal(to, e)
		if to == nil {
			continue
		}
		out = append(rawjson.AppendComma(out), to...)
	}
	if !changed {
		return arr
	}
	return append(out, ']')
}

// EditMember returns the object obj with the named array edited; nil if the edited array became empty.
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

// Strip edits the elements of the conversation in the named array of a body. It returns body itself if it contains no
// sealed signature.
func Strip(body []byte, name string, change func(element []byte) []byte) []byte {
	if !Within(body) {
		return body
	}
	if stripped := EditMember(body, name, change); stripped != nil {
		return stripped
	}
	return body
}
