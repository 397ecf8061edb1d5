#!/usr/bin/env sh
# Spark needs Java 17 or newer. Where it is missing and can be installed, install it; else say how.
set -u

major() {
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

for candidate in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java; do
    if command -v "$candidate" >/dev/null 2>&1; then
        version=$(major "$candidate")
        [ "${version:-0}" -ge 17 ] && exit 0
        found="found Java ${version:-of an unknown version}, but "
        break
    fi
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Java 17 or newer is missing: installing Debian's default-jre-headless ..." >&2
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null && exit 0
fi

echo "${found:-}XCQL needs Java 17 or newer: install one (Debian: 'apt install default-jre-headless'," \
     "macOS: 'brew install openjdk@17') and make sure 'java' is on the PATH or JAVA_HOME is set." >&2
exit 1
