package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/must"
)

// quickStart runs the blocks of a page against a gateway at another address, $ADDRESS. A failing request ends the
// script.
const quickStart = `[!exec:curl] skip 'there is no curl'
exec sh -c 'exec weir simulate --listen 127.0.0.1:0 >simulate.out 2>simulate.err' &simulate&
until simulate.err 'http://(127\.0\.0\.1:\d+)' SIMULATOR
exec sh -c 'exec weir serve --listen 127.0.0.1:0 >serve.out 2>serve.err' &serve&
until serve.err 'listening on http://(127\.0\.0\.1:\d+)\n' ADDRESS
until serve.out '/docs\n'
exec sh -e page.sh
stdout '"role": ?"assistant"'
stdout '"requests": ?[12]'
signal TERM
wait
-- weir.yaml --
default_model: openai/chat
providers:
  demo: {}
  openai: {base_url: "http://${SIMULATOR}/v1", api_keys: [any], allow_private: true}
-- page.sh --
curl() { command curl --fail-with-body --silent --show-error "$@"; }
`

// TestQuickStarts runs the quick starts of README.md and docs/quickstart.md, block by block, except for those that
// start the gateway. The simulator replaces OpenAI's model.
func TestQuickStarts(t *testing.T) {
	t.Parallel()
	all := documents(t)
	readme, _, _ := strings.Cut(all["README.md"], "\n## Features")
	dir := t.TempDir()
	for name, text := range map[string]string{"readme": readme, "quickstart": all["docs/quickstart.md"]} {
		script := quickStart
		blocks := 0
		for _, block := range shellBlocks(text) {
			if strings.Contains(block, "weir serve") {
				continue
			}
			blocks++
			script += strings.NewReplacer("127.0.0.1:8080", "$ADDRESS", "go run ./cmd/weir", "weir", "openai/gpt-5-mini",
				"openai/chat").Replace(block) + "\n"
		}
		if blocks < 3 {
			t.Errorf("%s: got %d blocks, want more", name, blocks)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(script), 0o600))
	}
	t.Run("all", func(t *testing.T) { runScripts(t, dir, nil) })
}
