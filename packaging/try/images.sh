# The images: pushed to a registry on this machine, pulled from it, unpacked and run.
crane=$(tool "$CRANE")
"$crane" registry serve --address 127.0.0.1:5056 >/dev/null 2>&1 &
sleep 1
for tag in "$VERSION" "$VERSION-glibc"; do
    mkdir "$work/layout-$tag" && tar -C "$work/layout-$tag" -xf "$OUT/image/cudacompat-$tag.oci.tar"
    "$crane" push "$work/layout-$tag" "127.0.0.1:5056/cudacompat:$tag" 2>/dev/null | sed 's/.*@/pushed /' |
        row "image" "linux/amd64, linux/arm64" "crane push image/cudacompat-$tag.oci.tar"
    mkdir "$work/image-$tag"
    "$crane" export --platform linux/amd64 "127.0.0.1:5056/cudacompat:$tag" - | tar -C "$work/image-$tag" -x
    inside "$work/image-$tag" /cudacompat version | row "image" "linux/amd64, unpacked, nothing else in the root" "cudacompat:$tag version"
done
"$crane" config --platform linux/arm64 "127.0.0.1:5056/cudacompat:$VERSION" |
    python3 -c 'import json, sys; c = json.load(sys.stdin); print(c["architecture"], len(c["config"]["Labels"]), "labels,", c["config"]["Entrypoint"])' |
    row "image" "linux/arm64" "crane config cudacompat:$VERSION"
