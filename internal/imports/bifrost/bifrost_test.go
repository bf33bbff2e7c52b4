package bifrost_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/imports"
	"weir/internal/imports/bifrost"
	"weir/internal/imports/importstest"
	"weir/internal/must"
)

func TestPlansOfImports(t *testing.T) {
	t.Parallel()
	importstest.Run(t, func(c *importstest.Case) (*imports.Plan, error) {
		in := &bifrost.Import{Config: c.Config, Getenv: c.Getenv, Now: importstest.Noon()}
		return in.Plan(), nil
	})
}

// FuzzPlan checks that nothing in a file makes the reader panic.
func FuzzPlan(f *testing.F) {
	for _, part := range txtar.Parse(must.Get(os.ReadFile("testdata/whole.txtar"))(f)).Files {
		f.Add(part.Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in := &bifrost.Import{
			Now: importstest.Noon(), Getenv: func(name string) (string, bool) { return name, len(name)%2 == 0 },
		}
		if json.Unmarshal(text, &in.Config) != nil {
			return
		}
		for _, l := range in.Plan().Left {
			if l.From == "" || l.Why == "" {
				t.Errorf("left %+v: want a path and a reason", l)
			}
		}
	})
}
