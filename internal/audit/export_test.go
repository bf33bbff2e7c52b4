package audit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/internal/audit"
	"weir/internal/must"
)

// TestExportersWriteNoFormula writes entries in both formats. A name like a formula is not one in a sheet.
func TestExportersWriteNoFormula(t *testing.T) {
	t.Parallel()
	list := chained(t, 2)
	list[1].Proofs = &audit.Proofs{Actor: &audit.Proof{Salt: "5a17", Hash: "f00d"}}
	list[0].Actor.Tool, list[1].Actor.Name = "make_key", "=HYPERLINK()"
	each := func(fn func(*audit.Entry) error) error {
		return errors.Join(fn(&list[0]), fn(&list[1]))
	}
	var csv, lines strings.Builder
	must.Do(t, audit.Exporters()["csv"](&csv, each))
	const row = `1,2026-11-21T12:00:00.000001Z,user,u,ann@example.com,192.0.2.7,r,key.changed,key,k,<über>,a,"{""rpm"": 1}","{""rpm"":null}",`
	if got := csv.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, "\n"+row+list[0].Hash.String()+",,,,,make_key\n") || !strings.Contains(got, ",'=HYPERLINK(),") || !strings.HasSuffix(got, ",5a17,f00d,,,\n") {
		t.Errorf("csv: got\n%s", got)
	}
	must.Do(t, audit.Exporters()["jsonl"](&lines, each))
	var got []audit.Entry
	for line := range strings.Lines(lines.String()) {
		var e audit.Entry
		must.Do(t, json.Unmarshal([]byte(line), &e))
		got = append(got, e)
	}
	list[0].Before, list[1].Before = json.RawMessage(`{"rpm":1}`), json.RawMessage(`{"rpm":1}`)
	must.Equal(t, got, list, "jsonl")
	gone := errors.New("gone")
	for name, export := range audit.Exporters() {
		if err := export(&lines, func(func(*audit.Entry) error) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("%s: got %v, want the error of the entries", name, err)
		}
	}
}

func TestPlainCell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "openai/gpt": "openai/gpt", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "\nx": "'\nx", "é=": "é=", "a\x1b[2J\x00\u009bb": "a\ufffd[2J\ufffd\ufffdb", "\x1b=1": "\ufffd=1", "a\tb": "a\tb", "a;=1;b;;@c;": "a;'=1;b;;'@c;", ";": ";"} {
		if got := audit.PlainCell(text); got != want {
			t.Errorf("PlainCell(%q): got %q, want %q", text, got, want)
		}
	}
}
