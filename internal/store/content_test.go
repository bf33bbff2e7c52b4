package store_test

import (
	"bytes"
	"crypto/rand"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/contentlog"
	"weir/internal/must"
	"weir/internal/store"
)

// TestDeletedContentIsNotInLaterCopies checks that not even the encrypted bytes of deleted content are in a copy of the
// database, in rows or in free space. A copy from before the deletion, and the content that stays, are the negative
// controls.
func TestDeletedContentIsNotInLaterCopies(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{Path: filepath.Join(t.TempDir(), "weir.db")})
	must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: "a", Name: "a", Created: time.Now()}))
	now := time.Now()
	var old, young [][]byte
	for round := range 20 {
		var list []contentlog.Record
		for i, size := range []int{60, 300, 1500, 5000, 40_000} {
			r := contentlog.Record{
				Account: "a", Key: "k", Request: uuid.New(), Created: now.Add(-time.Hour), Sealed: make([]byte, size),
			}
			_, _ = rand.Read(r.Sealed)
			if (round+i)%3 == 0 {
				r.Created = now
				young = append(young, r.Sealed)
			} else {
				old = append(old, r.Sealed)
			}
			list = append(list, r)
		}
		must.Do(t, s.Content.Write(t.Context(), list))
	}
	before := copyOf(t, s)
	must.Do(t, s.Content.Retain(t.Context(), now.Add(-time.Minute)))
	after := copyOf(t, s)
	must.Equal(t, found(before, old), pieces(old), "pieces of the old content in the copy before")
	must.Equal(t, found(after, young), pieces(young), "pieces of the other content in the copy after")
	must.Equal(t, found(after, old), 0, "pieces of the deleted content in the copy after")
}

func copyOf(t *testing.T, s *store.DB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	must.Do(t, s.Snapshot(t.Context(), path, nil))
	return must.Get(os.ReadFile(path))(t)
}

// pieceSize is the length of the compared pieces, in bytes: shorter than what is in one page.
const pieceSize = 24

func eachPiece(all [][]byte, fn func([]byte)) {
	for _, text := range all {
		for i := 0; i+pieceSize <= len(text); i += max(pieceSize, int(math.Sqrt(float64(len(text))))) {
			fn(text[i : i+pieceSize])
		}
	}
}

func pieces(all [][]byte) (n int) {
	eachPiece(all, func([]byte) { n++ })
	return n
}

// found returns how many pieces are in a file. A piece at the border of two pages counts too, if a half of it is there.
func found(file []byte, all [][]byte) (n int) {
	eachPiece(all, func(piece []byte) {
		if bytes.Contains(file, piece[:pieceSize/2]) || bytes.Contains(file, piece[pieceSize/2:]) {
			n++
		}
	})
	return n
}
