package vocabularytest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"weir/internal/must"
)

// question holds a question to count.mjs: to list all tokens, to count a text, or to count a request.
type question struct {
	Tokens bool     `json:"tokens,omitempty"`
	Text   string   `json:"text"`
	In     []string `json:"in,omitempty"`
	Body   string   `json:"body,omitempty"`
}

// answer holds its answer.
type answer struct {
	Lists      map[string][]string `json:"lists"`
	Counts     map[string]int64    `json:"counts"`
	Renderings []rendering         `json:"renderings"`
}

// rendering holds a request in one template, and one vocabulary.
type rendering struct {
	By, In         string
	Tokens, Around int64
}

// longestAnswer bounds a line of Node's: the lists of all tokens have some megabytes.
const longestAnswer = 64 << 20

// counter is a Node that counts for all tests: it reads vocabularies for seconds. Its zero value is ready; close it
// after the tests.
type counter struct {
	once sync.Once
	err  error
	node *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

var counting counter

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := counting.close(); err != nil {
		fmt.Fprintf(os.Stderr, "node count.mjs: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// start starts Node for the first test.
func (c *counter) start() error {
	c.once.Do(func() {
		node := exec.Command("node", "count.mjs")
		node.Stderr = os.Stderr
		in, failed := node.StdinPipe()
		out, err := node.StdoutPipe()
		if c.err = errors.Join(failed, err); c.err != nil {
			return
		}
		if c.err = node.Start(); c.err != nil {
			return
		}
		c.node, c.in, c.out = node, in, bufio.NewScanner(out)
		c.out.Buffer(nil, longestAnswer)
	})
	return c.err
}

func (c *counter) close() error {
	if c.node == nil {
		return nil
	}
	_ = c.in.Close() // its end of the input ends Node
	err := c.node.Wait()
	fmt.Printf("node took %v of processor time\n", c.node.ProcessState.UserTime())
	return err
}

// ask has all questions answered, in their order.
func (c *counter) ask(t *testing.T, questions []question) []answer {
	t.Helper()
	asked := make(chan error, 1)
	go func() {
		to := json.NewEncoder(c.in)
		for i := range questions {
			if err := to.Encode(questions[i]); err != nil {
				asked <- err
				return
			}
		}
		asked <- nil
	}()
	answers := make([]answer, len(questions))
	for i := range answers {
		if !c.out.Scan() {
			t.Fatalf("node gave %d answers to %d questions: %v", i, len(questions), c.out.Err())
		}
		must.Do(t, json.Unmarshal(c.out.Bytes(), &answers[i]))
	}
	must.Do(t, <-asked)
	return answers
}
