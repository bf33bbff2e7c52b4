package worktest

import (
	"flag"
	"runtime/debug"
	"strconv"
)

// Begin prepares the tests of a package, in its TestMain. It lets the garbage collector run a third as often, which
// saves a tenth of their processor time. If -parallel is not set, it lets atOnce parallel tests run at a time: more than
// there are processors, because they wait more than they work.
func Begin(atOnce int) {
	debug.SetGCPercent(400)
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(atOnce)) // cannot fail with a number
	}
}
