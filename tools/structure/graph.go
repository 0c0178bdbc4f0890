package main

import (
	"math"
	"slices"
)

// largestCycle is the size of the largest set of files that all reach each other, 0 where no two do.
func largestCycle(uses [][]int) int {
	n := len(uses)
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
		for j, count := range uses[i] {
			reach[i][j] = count > 0
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
			}
		}
	}
	largest := 0
	for i := range n {
		size := 1
		for j := range n {
			if i != j && reach[i][j] && reach[j][i] {
				size++
			}
		}
		if size > 1 {
			largest = max(largest, size)
		}
	}
	return largest
}

// order is the files with users before what they use, as far as cycles let it be. It is found greedily (Eades, Lin
// and Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993): what uses none of the rest goes
// last, what none of the rest uses comes next, else the file that uses most beyond what it is used for.
func order(uses [][]int) []int {
	placed := make([]bool, len(uses))
	var first, last []int
	for len(first)+len(last) < len(uses) {
		file, sink := next(uses, placed)
		placed[file] = true
		if sink {
			last = append(last, file)
		} else {
			first = append(first, file)
		}
	}
	slices.Reverse(last)
	return append(first, last...)
}

// next is the file to place now, and whether it uses none of those that are not placed.
func next(uses [][]int, placed []bool) (best int, sink bool) {
	best, most := -1, 0
	for i := range uses {
		if placed[i] {
			continue
		}
		out, in := 0, 0
		for j := range uses {
			if !placed[j] {
				out, in = out+uses[i][j], in+uses[j][i]
			}
		}
		switch {
		case out == 0:
			return i, true
		case in == 0:
			out = math.MaxInt
		}
		if best < 0 || out-in > most {
			best, most = i, out-in
		}
	}
	return best, false
}

// back are the uses that run against the order: how many of the second file by the first.
func back(uses [][]int) map[[2]int]int {
	list := map[[2]int]int{}
	files := order(uses)
	for i, user := range files {
		for _, used := range files[:i] {
			if uses[user][used] > 0 {
				list[[2]int{user, used}] = uses[user][used]
			}
		}
	}
	return list
}
