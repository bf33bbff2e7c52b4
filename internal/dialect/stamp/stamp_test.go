package stamp_test

import (
	"testing"

	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

func TestReplyIsStamped(t *testing.T) {
	t.Parallel()
	cost, small := llm.Money(0), llm.Money(12_300)
	twice := &llm.Final{Attempts: 2, Models: []string{"a", `b"`}}
	const tried = `,"weir":{"attempts":2,"models":["a","b\""]}`
	for _, c := range []struct {
		data, name string
		f          *llm.Final
		want       string
	}{
		{`{"usage":{"n":1},"id":"x"}`, "usage", &llm.Final{Attempts: 1}, `{"usage":{"n":1},"id":"x"}`},
		{`{"usage":{"n":1},"id":"x"}`, "usage", &llm.Final{Cost: &cost}, `{"usage":{"cost":0,"n":1},"id":"x"}`},
		{`{"usage":{"cost":null}}`, "usage", &llm.Final{Cost: &cost}, `{"usage":{"cost":0}}`},
		{`{"usage":{"cost":9}}`, "usage", &llm.Final{}, `{"usage":{"cost":9}}`},
		{
			`{"usage":{"cost":1e-05}}`, "usage", &llm.Final{Cost: &small},
			`{"usage":{"cost":1e-05},"weir":{"cost_usd":"0.0000123"}}`,
		},
		{
			`{"usage":{"cost": {"total_cost":0.1}},"id":1}`, "usage",
			&llm.Final{Cost: &small, Attempts: 2, Models: []string{"a"}},
			`{"usage":{"cost": {"total_cost":0.1}},"id":1,"weir":{"cost_usd":"0.0000123","attempts":2,"models":["a"]}}`,
		},
		{
			`{"weir":{"x":1},"usage":{"cost":9}}`, "usage", &llm.Final{Cost: &small},
			`{"weir":{"cost_usd":"0.0000123"},"usage":{"cost":9}}`,
		},
		{
			`{"weir":{"attempts":3},"usage":{}}`, "usage", &llm.Final{Cost: &small, Attempts: 2},
			`{"weir":{"attempts":2,"models":[]},"usage":{"cost":0.0000123}}`,
		},
		{`{"usage":{"n":1},"id":"x" }`, "usage", twice, `{"usage":{"n":1},"id":"x"` + tried + ` }`},
		{`{"usageMetadata":{}}`, "usageMetadata", twice, `{"usageMetadata":{}` + tried + `}`},
		{`{"usageMetadata":{}}`, "usage", twice, `{"usageMetadata":{}}`},
		{`{"usage":null}`, "usage", twice, `{"usage":null}`},
		{`{"usage":{"d":{"cost":5}}}`, "usage", &llm.Final{Cost: &cost}, `{"usage":{"cost":0,"d":{"cost":5}}}`},
		{`{"usage":{"c\u006fst":null}}`, "usage", &llm.Final{Cost: &cost}, `{"usage":{"c\u006fst":0}}`},
		{`{"usage":{ "n":1}}`, "usage", &llm.Final{Cost: &cost}, `{"usage":{"cost":0, "n":1}}`},
		{`no JSON`, "usage", twice, `no JSON`},
	} {
		if got := string(stamp.Reply([]byte("data: "), []byte(c.data), c.name, c.f)); got != "data: "+c.want {
			t.Errorf("%s became %s, want %s", c.data, got, c.want)
		}
	}
}

func TestAtInsertsCost(t *testing.T) {
	t.Parallel()
	cost := llm.Money(0)
	data := []byte(`{"delta":{"usage":{}}}`)
	usage := rawjson.Member{Start: 18, Value: data[18:20]}
	got := string(stamp.At(nil, data, usage, len(data)-1, &llm.Final{Cost: &cost, Attempts: 3}))
	if want := `{"delta":{"usage":{"cost":0}},"weir":{"attempts":3,"models":[]}}`; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}
