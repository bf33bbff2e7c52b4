package dialecttest

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Function reads name, description and parameters of a function, and all other members into its Extra.
func Function(v []byte) (t llm.Tool) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "name":
			t.Name = rawjson.Text(m.Value)
		case "description":
			t.Description = rawjson.Text(m.Value)
		case "parameters":
			if rawjson.Present(m.Value) {
				t.Parameters = m.Value
			}
		default:
			t.Extra = append(t.Extra, llm.Field{Name: m.Name(), Value: m.Value})
		}
	}
	return t
}
