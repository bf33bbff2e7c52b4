package websocket

// Break sends the head of a text message with a part of its content, and closes the connection. It serves as a fault.
func (c *Conn) Break(part []byte) {
	c.sends.Lock()
	defer c.sends.Unlock()
	head := []byte{final | byte(Text), length16, 0x7f, 0xff} // 32767 bytes, not masked: from a server
	_ = c.wire.Send(head, part, [4]byte{})
	c.Abort()
}
