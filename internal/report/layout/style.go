package layout

// Style is how the reader wants a page. The formats for programs ignore it.
type Style struct {
	Colour bool
	Width  int  // columns; 0: never break a line
	All    bool // what passed, too, and every detail
	// Verbose adds where the embedded tables are wrong.
	Verbose bool
	ASCII   bool // no character outside ASCII
	// Private removes user names.
	Private bool
	// Again is the command that judges again, without its output flags.
	Again string
	// Root is the directory of the tree that was read, as --root names it, or "" for this machine.
	Root string
	Site string // where the rules' pages are: of the report's Tool
}

// PaintHeading formats a line's first words in bold, on a screen with colours.
func (s Style) PaintHeading(text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + Bold + "m" + text + "\x1b[0m"
}
