package dialect_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// beside returns the operations of a kind other than chat, by the name of their wire format.
func beside(op llm.Op) map[string]*dialect.Operation {
	all := map[string]*dialect.Operation{}
	for _, d := range registrytest.All() {
		if o := d.For(op); o != nil {
			all[d.Name] = o
		}
	}
	return all
}

// FuzzVectors checks that a provider's answer for embeddings is either refused or becomes JSON for the clients of every
// wire format, in both forms.
func FuzzVectors(f *testing.F) {
	for _, seed := range []string{
		`{"object":"list","data":[{"embedding":[1,-2.5e3],"index":0}],"model":"m","usage":{"prompt_tokens":2,"total_tokens":2}}`,
		`{"data":[{"embedding":"AACAPwAAAEA="},{"embedding":"AA"},{"embedding":"\",\"a\":\""}]}`,
		`{"data":[{"embedding":"//////////8="},{"embedding":[1e999]}]}`,
		`{"embeddings":[{"values":[0.1]},{"values":"\"}"}],"usageMetadata":{"promptTokenCount":3}}`,
		`{"embeddings":{"float":[[1,2]],"base64":["AA"]},"meta":{"billed_units":{"input_tokens":1}}}`,
		`{"embeddings":[[1],["\u0000"]],"prompt_eval_count":4}`,
		`{"embedding":[1],"inputTextTokenCount":5}`,
	} {
		f.Add([]byte(seed))
	}
	operations := beside(llm.OpEmbed)
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, from := range operations {
			reply, err := from.DecodeReply(body, &llm.Quirks{})
			if err != nil {
				continue
			}
			for clientAPI, to := range operations {
				for _, reply.Base64 = range []bool{false, true} {
					if out := to.EncodeReply(nil, reply); !json.Valid(out) {
						t.Fatalf("%s to %s, base64 %v: %s", name, clientAPI, reply.Base64, out)
					}
				}
			}
		}
	})
}

// FuzzBeside checks that a client's request for embeddings or a token count is either refused with an error for the
// client or becomes JSON for every provider.
func FuzzBeside(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","input":["a","b"],"dimensions":3,"encoding_format":"base64","user":"u"}`,
		`{"model":"m","input":[[1,2],[3]]}`,
		`{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},"outputDimensionality":2,"taskType":"T"},{"content":{"parts":[{"text":"b"}]}}]}`,
		`{"model":"m","texts":["a"],"input_type":"search_query","embedding_types":["float"],"output_dimension":4}`,
		`{"model":"m","input":"a","truncate":true}`,
		`{"inputText":"a","dimensions":256}`,
		`{"requests":[]}`,
		`{"generate_content_request":{"model":"models/m","contents":[{"parts":[{"text":"a"}]}]}}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, op := range []llm.Op{llm.OpEmbed, llm.OpCountTokens} {
			for name, clientAPI := range beside(op) {
				checkBeside(t, name, clientAPI, body)
			}
		}
	})
}

func checkBeside(t *testing.T, name string, clientAPI *dialect.Operation, body []byte) {
	t.Helper()
	r := &http.Request{}
	r.SetPathValue("target", "m"+clientAPI.Suffix)
	head, err := clientAPI.Scan(body, r)
	if err != nil {
		if _, ok := errors.AsType[*llm.Error](err); !ok {
			t.Fatalf("%s: Scan(%q): %v is not for a client", name, body, err)
		}
		return
	}
	if clientAPI.Splice != nil {
		if out := clientAPI.Splice(nil, body, &head, llm.Splice{Model: "m"}, &llm.Quirks{}); !json.Valid(out) {
			t.Fatalf("%s: Splice(%q) = %q", name, body, out)
		}
	}
	tree, err := clientAPI.DecodeRequest(body)
	if err != nil {
		if _, ok := errors.AsType[*llm.Error](err); !ok {
			t.Fatalf("%s: DecodeRequest(%q): %v is not for a client", name, body, err)
		}
		return
	}
	for provider, to := range beside(clientAPI.Op) {
		if to.EncodeRequest == nil {
			continue
		}
		request := *tree
		request.Model = "m"
		out, _, err := to.EncodeRequest(&request, &llm.Quirks{})
		if err == nil && !json.Valid(out) {
			t.Fatalf("%s to %s: %q becomes %q", name, provider, body, out)
		}
	}
}
