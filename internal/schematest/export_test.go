package schematest

import (
	"bytes"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Verdicts returns whether quick and the library accept a body.
func (s *Schema) Verdicts(body []byte) (quick, library bool, err error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return false, false, err
	}
	return s.quick.accepts(v), s.compiled.Validate(v) == nil, nil
}
