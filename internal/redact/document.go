package redact

import (
	"bytes"
	"encoding/json"
)

// Document returns a file as it may be parsed: of JSON each string by itself, of other text each line.
func Document(data []byte) []byte {
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[{")):
		return literals(data)
	case hints(data) == 0:
		return data
	}
	return lines(data)
}

// lines redacts each line. Of a block of PEM the first line is left and the others are empty, so that lines still have
// their numbers.
func lines(data []byte) []byte {
	var out bytes.Buffer
	inside := false
	for line := range bytes.Lines(data) {
		text := bytes.TrimRight(line, "\r\n")
		end := line[len(text):]
		closes := bytes.Contains(text, []byte("-----END "))
		switch {
		case inside:
			inside, text = !closes, nil
		case hints(text) != 0:
			text = []byte(removeDevices(string(text)))
			inside = bytes.Contains(text, []byte("-----BEGIN "+mark)) && !closes
		}
		out.Write(text)
		out.Write(end)
	}
	return out.Bytes()
}

// literals redacts each string of a JSON document.
func literals(data []byte) []byte {
	var out bytes.Buffer
	for {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(data) {
			break
		}
		out.Write(data[:start])
		out.Write(literal(data[start : end+1]))
		data = data[end+1:]
	}
	out.Write(data)
	return out.Bytes()
}

// literal redacts one, which escapes can hide a secret in.
func literal(quoted []byte) []byte {
	if hints(quoted) == 0 && bytes.IndexByte(quoted, '\\') < 0 {
		return quoted
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	clean := removeDevices(text)
	if clean == text {
		return quoted
	}
	written, err := json.Marshal(clean)
	if err != nil {
		return quoted
	}
	return written
}
