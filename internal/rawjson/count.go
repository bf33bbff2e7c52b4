package rawjson

// Classes is how many classes of arrays Count tells apart.
const Classes = 8

// Counts are how many elements the arrays of a text have, and members its objects.
type Counts struct {
	// Elements are those of arrays, by class.
	Elements [Classes]int64
	Members  int64
}

// maxNested is how deep Count looks: deeper values are of the class of those around them.
const maxNested = 128

// looksEvery is after how many tokens Count asks whether that is enough.
const looksEvery = 4096

// Count counts in one pass over the text b, which passed Validate, until that is enough. The class of an array is
// what class says of the name of the member that holds it, unescaped; an array in an array
// is of the class of the outer one.
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
	depth int  // of the stack, which has the array or object around at its end
	named int  // the class of the value that follows its name
	key   bool // a name comes next
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

// step goes over the token at b[i].
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

// value counts one, if it stands in an array.
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
