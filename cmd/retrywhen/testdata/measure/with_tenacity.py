import sys, requests
from tenacity import retry, stop_after_attempt, wait_random_exponential

@retry(stop=stop_after_attempt(5), wait=wait_random_exponential(multiplier=1, max=60), reraise=True)
def price():
    response = requests.get(sys.argv[1] + "/price", timeout=5)
    response.raise_for_status()
    return response.text

print(price())
