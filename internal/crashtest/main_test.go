//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/simulator"
	"weir/internal/worktest"
)

var (
	killsFlag     = flag.Int("crash.kills", 3, "how often the gateway is killed")
	soakFlag      = flag.Duration("soak.time", 0, "how long the gateway is loaded to find what grows; 0 leaves it out")
	takeoversFlag = flag.Int("takeover.count", 1, "how often a gateway is taken over")
	streamsFlag   = flag.Int("takeover.streams", 30, "how many streams are open meanwhile")
	seedFlag      = flag.Uint64("crash.seed", 0, "seed of the load and of the kills; 0 is one from the clock")
)

// programDir is the directory in which the first test that needs the program builds it for all.
var programDir string

// simulating is set in the environment of the simulator's process, which is this program.
const simulating = "WEIR_CRASHTEST_SIMULATE"

func TestMain(m *testing.M) {
	if os.Getenv(simulating) != "" {
		if err := simulate(); err != nil {
			log.Fatal(err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "weir-crashtest-")
	if err != nil {
		log.Fatal(err)
	}
	programDir = dir
	worktest.Begin(3)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir) // the rest are temporary files
		os.Exit(code)
	}))
}

// simulate runs a provider that speaks every wire format, until it is told to stop.
func simulate() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	sim := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1})
	server := &http.Server{Handler: sim}
	context.AfterFunc(ctx, func() {
		sim.Close()
		_ = server.Close() // Serve returns the error
	})
	fmt.Fprintf(os.Stderr, "simulating on http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func seed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano())
}
