package harness

import (
	"flag"
)

// Update is whether tests write the parts of the documents that they hold.
var Update = flag.Bool("update", false, "write what is got into the documents")

// Words is a prompt that the simulator's model echo gives back piece by piece,
// whoever serves it.
const Words = "a weir is the low dam that measures a river without stopping it and lets the water pass"
