package rawjson

// Classes is the number of classes of arrays that Count distinguishes.
const Classes = 8

// Counts holds the number of elements of a text's arrays, and of members of its objects.
type Counts struct {
	// Elements counts the elements of arrays, by class.
	Elements [Classes]int64
	Members  int64
}

// maxNested is the maximum depth that Count tracks. Deeper values have the class of the enclosing ones.
const maxNested = 128

// looksEvery is the number of tokens after which Count calls enough.
const looksEvery = 4096

// Count counts in one pass over the text b, which must have passed Validate, until enough returns true. The function
// class maps the unescaped name of an array's member to the array's class; an array in an array has the class of the
// outer one.
func Count(b []byte, class func(name []byte) int, enough func(Counts) bool) Counts {
	c := counter{b: b, class: class}
	for i, tokens := 0, 1; i < len(b); tokens++ {
		i = c.step(i)
		if tokens%looksEvery == 0 && enough(c.Counts) {
			break
		}
	}
	return c.Counts
}

type counter struct {
	Counts
	b     []byte
	class func(name []byte) int
	stack [maxNested]nested
	depth int  // of the stack; the innermost array or object is at its end
	named int  // class of the value after a name
	key   bool // the next string is a name
}

// nested is an array or object that has begun.
type nested struct {
	class  int
	object bool
}

func (c *counter) top() *nested {
	if c.depth == 0 {
		return nil
	}
	return &c.stack[min(c.depth, maxNested)-1]
}

// step processes the token at b[i].
func (c *counter) step(i int) int {
	switch c.b[i] {
	case ' ', '\t', '\r', '\n', ':':
		return i + 1
	case ',':
		t := c.top()
		c.key = t != nil && t.object
		return i + 1
	case '}', ']':
		c.depth = max(0, c.depth-1)
		c.key = false
		return i + 1
	case '{', '[':
		c.begin(c.b[i] == '{')
		return i + 1
	case '"':
		end := skipString(c.b, i)
		if c.key {
			c.name(Member{name: c.b[i+1 : max(i+1, end-1)]})
		} else {
			c.value()
		}
		return end
	}
	c.value()
	return max(i+1, skipValue(c.b, i))
}

func (c *counter) name(m Member) {
	c.Members++
	c.named, c.key = c.class(m.Key()), false
}

// value counts a value in an array.
func (c *counter) value() {
	if t := c.top(); t != nil && !t.object {
		c.Elements[t.class]++
	}
}

func (c *counter) begin(object bool) {
	c.value()
	class := 0
	if t := c.top(); t != nil {
		class = c.named
		if !t.object {
			class = t.class
		}
	}
	c.depth++
	*c.top() = nested{class: class, object: object}
	c.key = object
}
