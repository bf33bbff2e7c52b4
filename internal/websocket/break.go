package websocket

// Break sends the head of a text message with a part of its content, and closes the connection. It serves as a fault.
func (c *Conn) Break(part []byte) {
	c.sends.Lock()
	defer c.sends.Unlock()
	head := []byte{0x81, 126, 0x7f, 0xff} // final, text, 32767 bytes, not masked: from a server
	_, _ = c.wire.Write(append(head, part...))
	c.Abort()
}
