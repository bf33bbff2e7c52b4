package simulator

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"

	"weir/internal/llm"
)

// signatureMark begins every signature: "sim" in base64.
var signatureMark = []byte("sim")

// signature returns the made-up signature of thinking, the same in every wire format: base64 of a mark, the hash of the
// text, and a check of that hash. Vendors' libraries expect base64.
func signature(text string) string {
	h := hash(0, []byte(text))
	b := binary.BigEndian.AppendUint64(bytes.Clone(signatureMark), h)
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, mix(h)))
}

// checkThinking refuses a conversation with thinking that the simulator did not sign. Wire formats may return a
// signature without its text.
func checkThinking(req *llm.Request) error {
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			if p.Kind != llm.PartReasoning {
				continue
			}
			proof := cmp.Or(p.Signature, p.Redacted)
			if proof == signature(p.Text) || p.Text == "" && ownSignature(proof) {
				continue
			}
			why := "is not the one it went out with"
			if proof == "" {
				why = "is missing"
			}
			return llm.Invalidf("messages", "The signature of the thinking in messages[%d] %s.", i, why)
		}
	}
	return nil
}

// ownSignature reports whether the simulator made a signature, of any text.
func ownSignature(proof string) bool {
	b, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || len(b) != len(signatureMark)+16 || !bytes.HasPrefix(b, signatureMark) {
		return false
	}
	b = b[len(signatureMark):]
	return binary.BigEndian.Uint64(b[8:]) == mix(binary.BigEndian.Uint64(b))
}
