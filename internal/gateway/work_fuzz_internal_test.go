package gateway

import (
	"encoding/json"
	"testing"

	"weir/internal/worktest"
)

// FuzzExtensions checks that any value of the gateway's own fields is accepted or refused, and that the rest is JSON.
func FuzzExtensions(f *testing.F) {
	for _, body := range []string{
		`{"model":"a","fallbacks":["b","c"],"rescue":"off","x":[1]}`, `{"fall\u0062acks":["b"]}`, `{"fallbacks":"a"}`,
		`{"rescue":"on","Rescue":"off"}`, `{"fallbacks":[{"a":1}],"fallbacks":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		worktest.Check(t, body, func(body []byte) {
			if mayExtend(body) {
				_, _ = new(ownFields).cut(body)
			}
		})
		if cut, err := new(ownFields).cut(body); err == nil && cut != nil && !json.Valid(cut) {
			t.Errorf("%q becomes %q", body, cut)
		}
	})
}
