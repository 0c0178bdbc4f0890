package shell

import (
	"regexp"
	"slices"
	"strconv"

	"cudacompat/internal/version"

	"mvdan.cc/sh/v3/syntax"
)

// testOf returns what [ … ] says of words whose values are known: -n a, -z a, a = b, 1 -ge 2, and those with ! before
// and -a or -o between them.
func testOf(list []string) version.Truth {
	if i := slices.Index(list, "-o"); i > 0 {
		return max(testOf(list[:i]), testOf(list[i+1:]))
	}
	if i := slices.Index(list, "-a"); i > 0 {
		return min(testOf(list[:i]), testOf(list[i+1:]))
	}
	if len(list) > 1 && list[0] == "!" {
		return version.Met - testOf(list[1:])
	}
	if slices.ContainsFunc(list, IsDynamic) {
		return version.Unsaid
	}
	switch {
	case len(list) == 1:
		return truthOf(list[0] != "")
	case len(list) == 2 && list[0] == "-n":
		return truthOf(list[1] != "")
	case len(list) == 2 && list[0] == "-z":
		return truthOf(list[1] == "")
	case len(list) == 3 && (list[1] == "=" || list[1] == "=="):
		return truthOf(list[0] == list[2])
	case len(list) == 3 && list[1] == "!=":
		return truthOf(list[0] != list[2])
	case len(list) == 3:
		return numbers(list[0], list[1], list[2])
	}
	return version.Unsaid
}

// numbers compares two whole numbers; what are none, or another operator, is not known.
func numbers(left, operator, right string) version.Truth {
	a, wrong := strconv.Atoi(left)
	b, bad := strconv.Atoi(right)
	if wrong != nil || bad != nil {
		return version.Unsaid
	}
	switch operator {
	case "-eq":
		return truthOf(a == b)
	case "-ne":
		return truthOf(a != b)
	case "-lt":
		return truthOf(a < b)
	case "-le":
		return truthOf(a <= b)
	case "-gt":
		return truthOf(a > b)
	case "-ge":
		return truthOf(a >= b)
	}
	return version.Unsaid
}

// test returns what [[ … ]] says. The parser hangs "! a || b" and "a && b || c" up by their order alone; a shell reads
// ! first, then &&, then ||.
func (s *script) test(x syntax.TestExpr) version.Truth {
	var terms []version.Truth
	var operators []syntax.BinTestOperator
	s.terms(x, &terms, &operators)
	best, all := version.Unmet, terms[0]
	for i, operator := range operators {
		if operator == syntax.OrTest {
			best, all = max(best, all), version.Met
		}
		all = min(all, terms[i+1])
	}
	return max(best, all)
}

// terms reads the tests of a [[ … ]] from left to right, and what stands between them.
func (s *script) terms(x syntax.TestExpr, terms *[]version.Truth, operators *[]syntax.BinTestOperator) {
	switch x := x.(type) {
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			at := len(*terms)
			s.terms(x.X, terms, operators)
			(*terms)[at] = version.Met - (*terms)[at]
			return
		}
	case *syntax.BinaryTest:
		if x.Op == syntax.AndTest || x.Op == syntax.OrTest {
			s.terms(x.X, terms, operators)
			*operators = append(*operators, x.Op)
			s.terms(x.Y, terms, operators)
			return
		}
	}
	*terms = append(*terms, s.term(x))
}

// term returns what one test says; the right side of = is a pattern here.
func (s *script) term(x syntax.TestExpr) version.Truth {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return s.test(x.X)
	case *syntax.Word:
		if text, ok := s.literalWord(x); ok {
			return truthOf(text != "")
		}
	case *syntax.UnaryTest:
		word, isWord := x.X.(*syntax.Word)
		if text, ok := s.literalWord(word); isWord && ok && x.Op == syntax.TsNempStr {
			return truthOf(text != "")
		} else if isWord && ok && x.Op == syntax.TsEmpStr {
			return truthOf(text == "")
		}
	case *syntax.BinaryTest:
		return s.binaryTest(x)
	}
	return version.Unsaid
}

func (s *script) binaryTest(x *syntax.BinaryTest) version.Truth {
	left, leftIsWord := x.X.(*syntax.Word)
	right, rightIsWord := x.Y.(*syntax.Word)
	if !leftIsWord || !rightIsWord {
		return version.Unsaid
	}
	a, known := s.literalWord(left)
	b, plain := s.literalWord(right)
	if !known || !plain {
		return version.Unsaid
	}
	switch x.Op {
	case syntax.TsMatchShort, syntax.TsMatch:
		return truthOf(a == b || matches(b, a))
	case syntax.TsNoMatch:
		return truthOf(a != b && !matches(b, a))
	case syntax.TsReMatch:
		if expression, err := regexp.CompilePOSIX(b); err == nil {
			return truthOf(expression.MatchString(a))
		}
		return version.Unsaid
	}
	return numbers(a, x.Op.String(), b)
}
