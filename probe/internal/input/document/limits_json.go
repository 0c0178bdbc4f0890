package document

// Facts take far more memory than the text that they are read from.
const (
	maxMembers = 20_000  // of any one list
	maxValues  = 200_000 // of all lists
)

// mostOf are the lists of facts whose members are the largest, and how many such objects there may be in all.
var mostOf = map[string]int{"gpus": MaxGPUs, "environments": maxEnvironments, "programs": maxEnvironments,
	"builds": maxBuilds}

// Excess says what facts or a report in JSON have too much of, before they are parsed.
func Excess(data []byte) error {
	if err := Objects(data); err != nil {
		return err
	}
	c := listCount{named: map[string]int{}}
	c.document(data)
	for name, most := range mostOf {
		if err := TooMany(c.named[name], most, name); err != nil {
			return err
		}
	}
	if err := TooMany(c.longest, maxMembers, "entries in one list"); err != nil {
		return err
	}
	return TooMany(c.all, maxValues, "entries in lists")
}

// listCount is what was counted of the lists of a JSON document.
type listCount struct {
	named        map[string]int // objects, by the name of the list that they stand in
	longest, all int
	open         []list // those that are read
}

// list is an array or an object that is read.
type list struct {
	name  string // of the field whose value it is
	array bool
	fresh bool // a member comes next
	n     int
}

// document goes through the tokens of a document. What is no JSON is counted somehow: the parser refuses it.
func (c *listCount) document(data []byte) {
	var name []byte // the last string: a field's name, where a value follows
	for i := 0; i < len(data); i++ {
		switch b := data[i]; b {
		case ' ', '\t', '\n', '\r', ':':
		case ',':
			if len(c.open) > 0 {
				c.open[len(c.open)-1].fresh = true
			}
		case '{', '[':
			c.member(b == '{')
			c.open = append(c.open, list{name: string(name), array: b == '[', fresh: true})
			if len(c.open) > maxDepth {
				return // no parser goes so deep
			}
		case '}', ']':
			if len(c.open) > 0 {
				c.open = c.open[:len(c.open)-1]
			}
		case '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			c.member(false)
			name, i = data[i+1:max(i+1, min(end, len(data)))], end
		default:
			c.member(false)
		}
	}
}

// maxDepth is how deep encoding/json goes.
const maxDepth = 10_000

// member counts the beginning of a value, where a list waits for one.
func (c *listCount) member(object bool) {
	if len(c.open) == 0 {
		return
	}
	in := &c.open[len(c.open)-1]
	if !in.array || !in.fresh {
		return
	}
	in.fresh = false
	in.n++
	c.longest, c.all = max(c.longest, in.n), c.all+1
	if object && mostOf[in.name] > 0 {
		c.named[in.name]++
	}
}
