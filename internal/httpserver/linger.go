package httpserver

import "time"

// If a request was refused before all of it had arrived, its connection is closed only after the client has sent the
// rest, which is discarded. Closing it earlier would reset it, and a client that sends everything before it reads would
// lose the answer (RFC 9112, section 9.6). These constants bound the cost; nginx uses the same times
// (https://nginx.org/en/docs/http/ngx_http_core_module.html#lingering_time).
const (
	// lingerTime is how long data is discarded at most, and lingerPause how long the client may pause.
	lingerTime  = 30 * time.Second
	lingerPause = 5 * time.Second
	// lingerRate is how many bytes a second the client must send after the first lingerPause, as for a body that is
	// read.
	lingerRate = 32 << 10
	// maxLingered is how many bytes are discarded at most: four times the usual largest body.
	maxLingered = 128 << 20
	// 1/lingerShare of all connections may linger at once, and at least minLingering. Beyond that, the oldest
	// 1/lingerPart of them are closed.
	lingerShare, minLingering, lingerPart = 16, 16, 4
	// lingerStop is how long a connection lingers after the server stops.
	lingerStop = 500 * time.Millisecond
	// All lingering connections together are read at lingerStep bytes per stepTime, which is less than half of a
	// processor.
	lingerStep = 256 << 10
	stepTime   = 400 * time.Microsecond
)

func lingers(c *connection) bool { return c.waiting() == forEnd }

// linger closes the sending side of the connection after its answer was written, and discards further data of the
// client.
func (c *connection) linger() {
	s := c.of
	c.read.set(0)
	if !c.setWaiting(forEnd) {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // if it fails, the read below fails, too
	}
	defer s.lingering.Add(-1)
	if most := max(minLingering, s.o.Most/lingerShare); int(s.lingering.Add(1)) > most {
		s.closeOldest(most/lingerPart, lingers)
	}
	c.discard(s.age())
}

// discard reads from the connection until its client closes it or a bound is reached. began is the start of the
// lingering.
func (c *connection) discard(began time.Duration) {
	s := c.of
	buf := s.inputs.Get().(*buffer)
	defer s.inputs.Put(buf)
	for got, step := 0, 0; got < maxLingered; {
		now := s.age()
		slow := began + lingerPause + time.Duration(got)*time.Second/lingerRate
		c.read.set(min(now+lingerPause, began+lingerTime, slow))
		n, err := c.Read(buf.b)
		if err != nil {
			return
		}
		if got, step = got+n, step+n; step >= lingerStep {
			step = 0
			s.wait(time.Duration(s.lingering.Load()) * stepTime)
		}
	}
}
