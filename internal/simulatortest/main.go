// Command simulatortest runs a strict simulator that speaks every wire format, for tests in other languages and for
// people who add a provider.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/simulator"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	fmt.Fprintf(os.Stderr, "simulating on http://%s; every request must obey its vendor's rules\n", listener.Addr())
	log.Fatal(http.Serve(listener, sim))
}
