package harness

import (
	"flag"
)

// Update makes tests write the parts of the documents that they check.
var Update = flag.Bool("update", false, "write the generated parts into the documents")

// Words is a prompt that the simulator's model echo repeats piece by piece at any provider.
const Words = "a weir is the low dam that measures a river without stopping it and lets the water pass"
