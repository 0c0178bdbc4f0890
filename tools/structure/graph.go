package main

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

// back counts the uses that run against an order of the files in which users stand before what they use. The order is
// found greedily (Eades, Lin and Smyth, 1993): the file that uses most beyond what it is used for comes next.
func back(uses [][]int) int {
	n, total := len(uses), 0
	placed := make([]bool, n)
	for range n {
		best, most := -1, 0
		for i := range n {
			if placed[i] {
				continue
			}
			out, in := 0, 0
			for j := range n {
				if !placed[j] {
					out, in = out+uses[i][j], in+uses[j][i]
				}
			}
			if best < 0 || out-in > most {
				best, most = i, out-in
			}
		}
		placed[best] = true
		for j := range n {
			if !placed[j] {
				total += uses[j][best]
			}
		}
	}
	return total
}
