package conversation_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkTurn is what a turn of a conversation costs, by how many came before
// it: to put them in, and to keep it.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{0, 20} {
		b.Run(fmt.Sprint(turns, " before"), func(b *testing.B) {
			w := newWorld(b)
			text, id := strings.Repeat("word ", 200), ""
			for i := range turns {
				next := fmt.Sprint("resp_", i)
				w.turn(`{`+previous(id)+`"input":"`+text+`"}`, answer(next, says("msg_"+next, text)))
				id = next
			}
			request := []byte(`{` + previous(id) + `"model":"m","input":"` + text + `"}`)
			response := answer("resp_b%d", says("msg_b%d", text))
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				_, turn, err := w.Expand(b.Context(), owner("a"), request, unbounded())
				if err == nil {
					err = w.Keep(b.Context(), owner("a"), turn, fmt.Appendf(nil, response, n, n))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
