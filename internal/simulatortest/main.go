// Command simulatortest runs a strict simulator that speaks every wire format, for tests in other languages.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/simulator"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	fmt.Fprintf(os.Stderr, "simulating on http://%s; it ends with its process\n", listener.Addr())
	log.Fatal(http.Serve(listener, sim))
}
