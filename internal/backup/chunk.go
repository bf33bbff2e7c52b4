package backup

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Names of the files in a target.
const (
	fullPrefix  = "full/weir-"
	fullSuffix  = ".backup"
	chunkPrefix = "journal/"
	chunkSuffix = ".zst"
	fullTime    = "20060102T150405Z"
	chunkTime   = "20060102T150405.000Z"
)

// FullName returns the name of a backup of the database that started then.
func FullName(began time.Time) string { return fullPrefix + began.UTC().Format(fullTime) + fullSuffix }

// ParseFull returns when a backup with that name started; false for another file.
func ParseFull(name string) (began time.Time, ok bool) {
	text, isFull := strings.CutPrefix(name, fullPrefix)
	text, isBackup := strings.CutSuffix(text, fullSuffix)
	began, err := time.Parse(fullTime, text)
	return began, isFull && isBackup && err == nil
}

// Chunk is a piece of one file of a journal, compressed with Zstandard.
type Chunk struct {
	Journal string    // its id
	Segment string    // name of the file
	Offset  int64     // in the file, in bytes
	Length  int64     // in bytes
	At      time.Time // when it was copied
}

// Name returns the name of the chunk in a target. Names sort in the order of the bytes.
func (c *Chunk) Name() string {
	return fmt.Sprintf("%s%s_%012d_%012d_%s%s", chunkPrefix+c.Journal+"/", c.Segment, c.Offset, c.Length,
		c.At.UTC().Format(chunkTime), chunkSuffix)
}

// ParseChunk parses the name of a chunk; false for another file.
func ParseChunk(name string) (c Chunk, ok bool) {
	rest, isChunk := strings.CutPrefix(name, chunkPrefix)
	rest, isCompressed := strings.CutSuffix(rest, chunkSuffix)
	journal, rest, hasJournal := strings.Cut(rest, "/")
	parts := strings.Split(rest, "_")
	if !isChunk || !isCompressed || !hasJournal || len(parts) != 4 || strings.Contains(rest, "/") ||
		!filepath.IsLocal(parts[0]) {
		return c, false
	}
	c.Journal, c.Segment = journal, parts[0]
	var err1, err2, err3 error
	c.Offset, err1 = strconv.ParseInt(parts[1], 10, 64)
	c.Length, err2 = strconv.ParseInt(parts[2], 10, 64)
	c.At, err3 = time.Parse(chunkTime, parts[3])
	return c, err1 == nil && err2 == nil && err3 == nil && c.Offset >= 0 && c.Length > 0
}

// Fulls returns when the database backups in a target started, oldest first.
func Fulls(ctx context.Context, target Target) (began []time.Time, err error) {
	names, err := target.List(ctx, fullPrefix)
	for _, name := range names {
		if at, ok := ParseFull(name); ok {
			began = append(began, at)
		}
	}
	return began, err
}

// Chunks returns the chunks of a journal in a target, in the order of the bytes; of all journals if the id is empty.
func Chunks(ctx context.Context, target Target, journal string) (chunks []Chunk, err error) {
	prefix := chunkPrefix
	if journal != "" {
		prefix += journal + "/"
	}
	names, err := target.List(ctx, prefix)
	for _, name := range names {
		if c, ok := ParseChunk(name); ok {
			chunks = append(chunks, c)
		}
	}
	return chunks, err
}
