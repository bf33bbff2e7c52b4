package reconcile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readCSV adds the rows of a CSV file with a header.
func (r *billReader) readCSV(file io.Reader) error {
	in := &records{file: file, left: maxRecord}
	buffered := bufio.NewReaderSize(in, maxHeads)
	rows := csv.NewReader(buffered)
	rows.Comma = separator(buffered)
	rows.ReuseRecord = true
	heads, err := rows.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return fmt.Errorf("the first line: %w", err)
	}
	at, err := columnsOf(heads)
	if err != nil {
		return err
	}
	t := &table{heads: append([]string(nil), heads...)}
	t.next = func() ([]string, string, error) {
		in.left = maxRecord
		row, err := rows.Read()
		if err != nil && !errors.Is(err, io.EOF) && in.left <= 0 {
			err = fmt.Errorf("a row is longer than %d bytes", maxRecord) // csv reports a missing quotation mark
		}
		if err != nil {
			return nil, "", err
		}
		line, _ := rows.FieldPos(0)
		return row, fmt.Sprintf("line %d", line), nil
	}
	return r.read(t, at)
}

// maxHeads is the number of bytes of the first line that are searched for the separator.
const maxHeads = 64 << 10

// separator returns the most frequent separator of the header.
func separator(in *bufio.Reader) rune {
	start, _ := in.Peek(maxHeads) // a file may be shorter
	line, _, _ := strings.Cut(string(start), "\n")
	best := ','
	for _, c := range ";\t|" {
		if strings.Count(line, string(c)) > strings.Count(line, string(best)) {
			best = c
		}
	}
	return best
}

// records limits the length of each record of a file to maxRecord.
type records struct {
	file io.Reader
	left int // bytes until the maximum length of the record
}

func (r *records) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.ErrShortBuffer
	}
	n, err := r.file.Read(p)
	r.left -= n
	return n, err
}
