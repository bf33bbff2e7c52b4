package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A segment is a header followed by frames. Each frame holds one record:
//
//	length   uint32, little endian: the number of bytes after the checksum
//	checksum uint32, little endian: CRC-32C of those bytes
//	type     one byte
//	payload
//
// A length of zero, as in reserved space that is still unused, ends the segment.
const (
	frameHead = 8
	// maxRecord bounds one record. The largest record is a price with many tiers.
	maxRecord = 64 << 10
)

type recordType byte

const (
	recordPrice  recordType = 1
	recordOpen   recordType = 2
	recordSettle recordType = 3
)

// castagnoli is the table of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginFrame reserves the bytes of a frame's head and writes its type.
func beginFrame(dst []byte, t recordType) (buf []byte, start int) {
	return append(dst, 0, 0, 0, 0, 0, 0, 0, 0, byte(t)), len(dst)
}

// endFrame fills in the head of the frame that begins at start.
func endFrame(buf []byte, start int) []byte {
	body := buf[start+frameHead:]
	binary.LittleEndian.PutUint32(buf[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(buf[start+4:], crc32.Checksum(body, castagnoli))
	return buf
}

var errRecordSize = errors.New("ledger: the record is larger than the journal can read back")

// checkFrames rejects records that readFrame cannot read, because one of them would hide all records after it.
func checkFrames(b []byte) error {
	for len(b) > 0 {
		n := int(binary.LittleEndian.Uint32(b))
		if n > maxRecord {
			return fmt.Errorf("%w: %d bytes", errRecordSize, n)
		}
		b = b[frameHead+n:]
	}
	return nil
}

// readFrame returns the record at the start of b and its total length. A length of 0 means that no complete, valid
// record begins there.
func readFrame(b []byte) (t recordType, payload []byte, length int) {
	if len(b) < frameHead {
		return 0, nil, 0
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n == 0 || n > maxRecord || frameHead+n > len(b) {
		return 0, nil, 0
	}
	body := b[frameHead : frameHead+n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, nil, 0
	}
	return recordType(body[0]), body[1:], frameHead + n
}
