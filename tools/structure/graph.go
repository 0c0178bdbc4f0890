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

// order is the files with users before what they use, as far as cycles let it be. It is found greedily (Eades, Lin and
// Smyth, 1993): the file that uses most beyond what it is used for comes next.
func order(uses [][]int) []int {
	n := len(uses)
	placed := make([]bool, n)
	var list []int
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
		list = append(list, best)
	}
	return list
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
