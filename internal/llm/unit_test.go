package llm_test

import (
	"testing"
	"time"

	"weir/internal/llm"
)

// byUnits returns a price by the size and quality of images, and by the memory of containers.
func byUnits() llm.Price {
	mode := func(name string, c llm.Class, rate llm.Rate) llm.Mode {
		m := llm.Mode{Name: name, Rates: llm.Rates{llm.Input: 1_000_000}}
		m.Rates[c] = rate
		return m
	}
	return llm.Price{
		Version: "v",
		Rates:   llm.Rates{llm.Input: 1_000_000, llm.Images: 60_000, llm.CodeSessions: 30_000, llm.Searches: 10_000},
		Modes: []llm.Mode{
			mode("image:1k:low", llm.Images, 40_000),
			mode("image:1k:medium", llm.Images, 60_000),
			mode("image:2k:low", llm.Images, 61_000),
			mode("image:2k:medium", llm.Images, 80_000),
			mode("container:1g", llm.CodeSessions, 30_000),
			mode("container:4g", llm.CodeSessions, 120_000),
			{Name: "search:preview", Rates: llm.Rates{llm.Input: 1_000_000, llm.Images: 60_000, llm.CodeSessions: 30_000, llm.Searches: 25_000}},
			{Name: "priority", Times: 2000},
		},
	}
}

func TestUnitsOfUsage(t *testing.T) {
	t.Parallel()
	image, session := llm.Usage{llm.Images: 1}, llm.Usage{llm.CodeSessions: 1}
	mixed := llm.Usage{llm.Input: 1, llm.CodeSessions: 1, llm.Searches: 1}
	none := llm.Classes(0)
	for _, tt := range []struct {
		name     string
		usage    llm.Usage
		served   string
		cost     llm.Money
		most     llm.Money // 0: cost, for certain
		unpriced llm.Classes
	}{
		{"size and quality", image, llm.ImageMode("2K", "Medium"), 80, 0, none},
		{"the least", image, llm.ImageMode("1k", "low"), 40, 0, none},
		{"neither told", image, "", 60, 80, none},
		{"neither said", image, llm.ImageMode("", ""), 60, 80, none},
		{"left to the provider", image, llm.ImageMode("2k", "auto"), 60, 80, none},
		{"open, and the estimate is the most", image, llm.ImageMode("1k", ""), 60, 60, none},
		{"one of both", image, llm.ImageMode("", "low"), 60, 61, none},
		{"a size that is not known", image, llm.ImageMode("4k", "low"), 0, 0, none.With(llm.Images)},
		{"a quality that is not known", image, llm.ImageMode("", "ultra"), 0, 0, none.With(llm.Images)},
		{"no word for a size", image, llm.ImageMode("1k,image:1k:low", "low"), 0, 0, none.With(llm.Images)},
		{"a mode of something else", image, "priority", 60, 80, none},
		{"a container and half an hour", session, llm.ContainerMode("4g"), 120, 360, none},
		{"a container that nobody told", session, "", 30, 360, none},
		{"two containers", llm.Usage{llm.CodeSessions: 2}, llm.ContainerMode("1g") + "," + llm.ContainerMode("4g"), 240, 480, none},
		{"one of which is not known", session, llm.ContainerMode("1g") + "," + llm.ContainerMode("made-before"), 0, 0, none.With(llm.CodeSessions)},
		{"a container that may have been made", llm.Usage{llm.Input: 1}, llm.ContainerMode("4g"), 1000, 1360, none},
		{"beside other modes", mixed, "priority,search:preview," + llm.ContainerMode("4g"), 2000 + 25 + 120, 2000 + 25 + 360, none},
	} {
		p := byUnits()
		cost, missing := p.Cost(&tt.usage, tt.served), p.Unpriced(&tt.usage, tt.served)
		most, certain := p.AtMost(&tt.usage, tt.served, 30*time.Minute-time.Second)
		want := max(tt.most, tt.cost)
		if cost != tt.cost || most != want || certain != (tt.most == 0) || missing != tt.unpriced {
			t.Errorf("%s: %v %q: got %d, at most %d, unpriced %v; want %d, at most %d, %v",
				tt.name, tt.usage, tt.served, cost, most, missing.Names(), tt.cost, want, tt.unpriced.Names())
		}
	}
}

// TestUnitsWithoutModesHaveOneRate checks that a price without modes of a unit has one rate, and ignores the lifetime
// of a container.
func TestUnitsWithoutModesHaveOneRate(t *testing.T) {
	t.Parallel()
	p := llm.Price{Version: "v", Rates: llm.Rates{llm.Images: 20_000, llm.CodeSessions: 30_000}, Modes: []llm.Mode{}}
	u := llm.Usage{llm.Images: 1, llm.CodeSessions: 1}
	served := p.Served("default,container:4g", llm.ImageMode("2k", "hd"))
	most, certain := p.AtMost(&u, served, time.Hour)
	if got := p.Cost(&u, served); served != "default" || got != 50 || most != got || !certain || p.Unpriced(&u, served) != 0 {
		t.Errorf("got %q and %d, want \"default\" and 50 for certain", served, got)
	}
}

// TestServedUnits checks that an answer's report of its units counts, and otherwise the request's.
func TestServedUnits(t *testing.T) {
	t.Parallel()
	p := byUnits()
	asked := llm.ImageMode("2k", "low")
	for _, tt := range []struct{ told, want string }{
		{"", "image:2k:low"},
		{"priority", "priority,image:2k:low"},
		{"image:1k:medium", "image:1k:medium"},
		{"default,container:4g", "default,container:4g,image:2k:low"},
	} {
		if got := p.Served(tt.told, asked); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.told, got, tt.want)
		}
	}
	for _, tt := range []struct{ told, asked, want string }{
		{"default", "search:preview", "default,search:preview"}, // the answer's tools are gone
		{"default,search:preview", "search:preview", "default,search:preview"},
		{"default", "", "default"},
		{"", "container:4g,search:preview", "container:4g,search:preview"},
	} {
		if got := p.Served(tt.told, tt.asked); got != tt.want {
			t.Errorf("%q, requested %q: got %q, want %q", tt.told, tt.asked, got, tt.want)
		}
	}
	none := llm.Price{Version: "v", Modes: []llm.Mode{}}
	if got := none.Served("default", "search:preview"); got != "default" {
		t.Errorf("a price without the mode: got %q, want default", got)
	}
	modes, unknown := p.ServedAs("priority,image:2k:low,image:9k:low")
	if len(modes) != 2 || modes[1].Name != "image:2k:low" || unknown != nil {
		t.Errorf("got %v and %v, want the modes priority and image:2k:low", modes, unknown)
	}
}

// TestBoundOfUnits checks that a bound has the requested units, otherwise the dearest, and none of a kind with an
// unknown price.
func TestBoundOfUnits(t *testing.T) {
	t.Parallel()
	p := byUnits()
	u := llm.Usage{llm.Images: 1, llm.CodeSessions: 1, llm.Searches: 1}
	for _, tt := range []struct {
		asked   string
		want    llm.Money
		unknown llm.Classes
	}{
		{"", 80 + 120 + 25, 0},
		{"image:1k:low,container:1g", 40 + 30 + 25, 0},
		{"image::low", 61 + 120 + 25, 0},
		{"container:2g", 80 + 25, llm.Classes(0).With(llm.CodeSessions)},
	} {
		if got, unknown := p.BoundAsked(&u, tt.asked), p.UnboundedAsked(&u, tt.asked); got != tt.want || unknown != tt.unknown {
			t.Errorf("%q: got %d and %v, want %d and %v", tt.asked, got, unknown.Names(), tt.want, tt.unknown.Names())
		}
	}
}
