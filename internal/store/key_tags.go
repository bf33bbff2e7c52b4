package store

import (
	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// encodeKeyTags encodes the column tags of a key.
func encodeKeyTags(t *account.KeyTags) string {
	o := object{[]byte{'{'}}
	o.tags("defaults", t.Defaults)
	if len(t.Required) > 0 {
		o.name("required")
		for i, name := range t.Required {
			o.b = rawjson.AppendString(append(o.b, "[,"[min(i, 1)]), name)
		}
		o.b = append(o.b, ']')
	}
	return o.String()
}

// decodeKeyTags decodes the output of encodeKeyTags.
func decodeKeyTags(text string) (t account.KeyTags) {
	for m := range rawjson.Members(rawjson.Get([]byte(text), "defaults")) {
		t.Defaults = append(t.Defaults, llm.Tag{Name: m.Name(), Value: rawjson.Text(m.Value)})
	}
	for _, name := range rawjson.Elements(rawjson.Get([]byte(text), "required")) {
		t.Required = append(t.Required, rawjson.Text(name))
	}
	return t
}
