package ledger

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// Identity is the id of the journal in dir; false when there is none.
func Identity(dir string) (id uuid.UUID, ok bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, "identity")); errors.Is(err, os.ErrNotExist) {
		return id, false, nil
	}
	id, err = identity(dir)
	return id, err == nil, err
}

// Gap is how many bytes of the journal in dir are lost to a database that is
// at pos: records that it does not have and that are not kept any more. It
// reads beside a running gateway.
func Gap(dir string, pos Position) (Position, error) {
	segs, _, err := loadSegments(Directory(dir))
	if err != nil || len(segs) == 0 {
		return 0, err
	}
	return max(0, segs[0].prevEnd-pos), nil
}
