package websocket

import "net"

// wire is the connection below a WebSocket. That of the gateway's server has more than a net.Conn.
type wire interface {
	net.Conn
	// Receive waits for data and returns it. The data is valid until the next call.
	Receive() ([]byte, error)
	// Send writes the head of a frame and its content, which is not masked yet.
	Send(head, content []byte, mask [4]byte) error
}

const (
	// receiveBytes is the size of the buffer for received data.
	receiveBytes = 8 << 10
	// sendBytes is the largest buffer for sent data that is kept. Longer messages are written in pieces of that size.
	sendBytes = 8 << 10
)

// buffered is a wire over any connection.
type buffered struct {
	net.Conn
	in, out []byte
}

// Receive implements wire.
func (b *buffered) Receive() ([]byte, error) {
	if b.in == nil {
		b.in = make([]byte, receiveBytes)
	}
	n, err := b.Read(b.in)
	if n > 0 {
		err = nil
	}
	return b.in[:n], err
}

// Send implements wire.
func (b *buffered) Send(head, content []byte, mask [4]byte) error {
	if need := min(len(head)+len(content), sendBytes); need > cap(b.out) {
		b.out = make([]byte, 0, need)
	}
	b.out = append(b.out[:0], head...)
	for at := 0; ; {
		n := min(cap(b.out)-len(b.out), len(content)-at)
		end := len(b.out)
		b.out = b.out[:end+n]
		xor(b.out[end:], content[at:at+n], mask, at)
		if _, err := b.Write(b.out); err != nil {
			return err
		}
		if at += n; at == len(content) {
			return nil
		}
		b.out = b.out[:0]
	}
}
