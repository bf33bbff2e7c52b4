package dashboard

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestCacheTileWithoutReads checks that the tile denies no tokens of which none was read from a cache.
func TestCacheTileWithoutReads(t *testing.T) {
	t.Parallel()
	var x report.Use
	x.Usage[llm.Input] = 414
	must.Equal(t, cacheTile(&x), Tile{Label: "Read from caches", Value: none, Note: "none of the tokens in"}, "without reads")
	x.Usage[llm.CacheRead] = 46
	must.Equal(t, cacheTile(&x), Tile{Label: "Read from caches", Value: "10 %", Note: "of the tokens in"}, "with reads")
}
