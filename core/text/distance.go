package text

// maxDistance is the longest text in bytes that Distance looks at.
const maxDistance = 256

// Distance returns how many bytes to insert, drop or replace to get from a to b. It serves hints; of texts over 256 bytes it
// says only that they are far apart.
func Distance(a, b string) int {
	if len(a) > maxDistance || len(b) > maxDistance {
		return maxDistance
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
