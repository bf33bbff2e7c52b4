package front

import "time"

// A connection whose request was refused before all of it had come is closed only when its client has sent the rest,
// which is discarded: a close before would reset it, and take the answer from clients that send all before they read
// (RFC 9112, section 9.6). These bound what that takes; nginx has the same times
// (https://nginx.org/en/docs/http/ngx_http_core_module.html#lingering_time).
const (
	// lingerTime is for how long at most what a client sends is discarded, and lingerPause how long it may send nothing.
	lingerTime  = 30 * time.Second
	lingerPause = 5 * time.Second
	// lingerRate is how many bytes a second it has to send, beyond the first lingerPause: as of a body that is read.
	lingerRate = 32 << 10
	// maxLingered is how many bytes are discarded: four times those of the largest body that is usual.
	maxLingered = 128 << 20
	// lingerShare of all connections may linger at once, and minLingering in any case. Beyond it the oldest end, a part
	// of them at a time.
	lingerShare, minLingering, lingerPart = 16, 16, 4
	// lingerStop is for how long a connection lingers once the server stops.
	lingerStop = 500 * time.Millisecond
	// What all that linger send is taken at lingerStep bytes in stepTime: less than half of a processor's time.
	lingerStep = 256 << 10
	stepTime   = 400 * time.Microsecond
)

func lingers(c *connection) bool { return c.waiting() == forEnd }

// linger ends our side of the connection, whose answer has been written, and discards what its client still sends.
func (c *connection) linger() {
	s := c.of
	c.read.set(0)
	if !c.setWaiting(forEnd) {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // or it has broken, which shows below
	}
	defer s.lingering.Add(-1)
	if most := max(minLingering, s.o.Most/lingerShare); int(s.lingering.Add(1)) > most {
		s.closeOldest(most/lingerPart, lingers)
	}
	c.discard(s.age())
}

// discard reads on from when the connection began to linger, until its client ends it or a bound is met.
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
